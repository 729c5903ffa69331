package node

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
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
)

// validity is longer than any test runs.
const validity = 7 * 24 * time.Hour

// authority signs the certificates of the cluster: one for servers and clients alike.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// newAuthority makes an authority that keeps its files in dir.
func newAuthority(dir string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	a := &authority{dir: dir, key: key}
	a.certificate = &x509.Certificate{
		Subject:  pkix.Name{CommonName: "terdut-node"},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := a.sign(a.certificate, key)
	if err != nil {
		return nil, err
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	a.pem = certificatePEM(der)
	return a, a.write("ca.crt", a.pem)
}

// sign fills what all certificates have in common.
func (a *authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	template.SerialNumber = serial
	// Clocks of the machine may be set back a little while a test runs.
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("make certificate of %s: %w", template.Subject.CommonName, err)
	}
	return der, nil
}

// issue makes a certificate and its key, in PEM.
func (a *authority) issue(template *x509.Certificate) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make certificate of %s: %w", template.Subject.CommonName, err)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := a.sign(template, private)
	if err != nil {
		return nil, nil, err
	}
	if key, err = keyutil.MarshalPrivateKeyToPEM(private); err != nil {
		return nil, nil, fmt.Errorf("make certificate of %s: %w", template.Subject.CommonName, err)
	}
	return certificatePEM(der), key, nil
}

// server writes name.crt and name.key for a server with these addresses and names.
func (a *authority) server(name string, addresses []net.IP, names ...string) error {
	certificate, key, err := a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IPAddresses: addresses, DNSNames: names,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return err
	}
	if err = a.write(name+".crt", certificate); err != nil {
		return err
	}
	return a.write(name+".key", key)
}

// client issues a certificate for a user in a group.
func (a *authority) client(user, group string) (certificate, key []byte, err error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: []string{group}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// kubeconfig writes a kubeconfig file with the access of a user in a group, to an API server at url.
func (a *authority) kubeconfig(path, url, user, group string) error {
	certificate, key, err := a.client(user, group)
	if err != nil {
		return err
	}
	err = clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{Name: {Server: url, CertificateAuthorityData: a.pem}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{Name: {ClientCertificateData: certificate, ClientKeyData: key}},
		Contexts:       map[string]*clientcmdapi.Context{Name: {Cluster: Name, AuthInfo: Name}},
		CurrentContext: Name,
	}, path)
	if err != nil {
		return fmt.Errorf("write kubeconfig of %s: %w", user, err)
	}
	return nil
}

// signer writes a key without a certificate, and its public half: for the tokens of service accounts.
func (a *authority) signer(name string) error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make key %s: %w", name, err)
	}
	key, err := keyutil.MarshalPrivateKeyToPEM(private)
	if err != nil {
		return fmt.Errorf("make key %s: %w", name, err)
	}
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		return fmt.Errorf("make key %s: %w", name, err)
	}
	if err = a.write(name+".key", key); err != nil {
		return err
	}
	return a.write(name+".pub", pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: der}))
}

func (a *authority) write(name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(a.dir, name), content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
