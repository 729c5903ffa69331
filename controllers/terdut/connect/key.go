package connect

import (
	"crypto/rand"
	"encoding/hex"
)

// keyBytes is the size of a key of our choice; it travels as hexadecimal text.
const keyBytes = 32

// ChooseKey is a key for a server that takes one of our choice.
func ChooseKey() string { return RandomHex(keyBytes) }

// RandomHex is so many random bytes as text.
func RandomHex(size int) string {
	b := make([]byte, size)
	// crypto/rand never fails: it ends the program where there is no randomness.
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}
