// Package adoption tries on a real API server whose an object on a server is:
// who may take over what was there before, what happens when two have recorded
// the same, when statuses are lost, copied or forged, when the server comes back
// as another one, and when two operators run at once.
package adoption
