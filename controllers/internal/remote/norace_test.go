//go:build !race

package remote

// raceDetector tells whether the tests run under the race detector.
const raceDetector = false
