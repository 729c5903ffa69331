// Package chart_test proves what the chart renders and refuses, without a
// cluster; package install beside it needs one. Everything is done by real helm
// commands, of Helm 3 and of Helm 4.
package chart_test
