package postgres

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// validity is how long CA and certificate hold; no test server lives longer.
const validity = 30 * 24 * time.Hour

// certificates are a CA of one server and that server's certificate, as PEM.
type certificates struct{ ca, server, key []byte }

// newCertificates makes a certificate for DNS names and IP addresses.
func newCertificates(names []string) (certificates, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificates{}, fmt.Errorf("make the CA's key: %w", err)
	}
	authority := template(1, "terdut test database CA")
	authority.IsCA, authority.BasicConstraintsValid = true, true
	authority.KeyUsage = x509.KeyUsageCertSign
	ca, err := x509.CreateCertificate(rand.Reader, authority, authority, &caKey.PublicKey, caKey)
	if err != nil {
		return certificates{}, fmt.Errorf("make the CA: %w", err)
	}

	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificates{}, fmt.Errorf("make the server's key: %w", err)
	}
	leaf := template(2, "terdut test database")
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	server, err := x509.CreateCertificate(rand.Reader, leaf, authority, &serverKey.PublicKey, caKey)
	if err != nil {
		return certificates{}, fmt.Errorf("make the server's certificate: %w", err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		return certificates{}, fmt.Errorf("encode the server's key: %w", err)
	}
	return certificates{
		ca:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca}),
		server: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server}),
		key:    pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
	}, nil
}

func template(serial int64, name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour), // a client's clock may be behind
		NotAfter:     now.Add(validity),
	}
}
