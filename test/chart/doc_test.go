// Package chart_test proves the chart: what it renders without a cluster, and
// how it is installed, upgraded and removed on a real API server. Everything is
// done by real helm commands, of Helm 3 and of Helm 4.
package chart_test
