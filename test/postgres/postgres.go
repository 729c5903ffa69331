package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/process"
)

const (
	loopback = "127.0.0.1"
	// stopGrace is how long a shutdown may take before the server is killed. Its data are thrown away.
	stopGrace = 10 * time.Second
	// startAttempts is how often a free port is chosen anew when another process takes it between choice and use.
	startAttempts = 3
	retryEvery    = 50 * time.Millisecond
)

// errPortTaken is the end of a server whose port another process has.
var errPortTaken = errors.New("the port is taken")

// Options say how to run the server. The zero value listens on 127.0.0.1 only.
type Options struct {
	// Address is the IP address to listen on; empty means 127.0.0.1.
	Address string
	// Names are further DNS names and IP addresses for which the certificate is good. Address, 127.0.0.1 and localhost
	// always are.
	Names []string
	// LogFile gets the server's log, appended. Empty keeps it in the directory that is removed at the end.
	LogFile string
}

// Postgres is a running server.
type Postgres struct {
	// Host is the IP address that the server listens on.
	Host string
	// Port is the TCP port.
	Port int
	// CAPEM is the certificate of the CA that signed the server's, as PEM.
	CAPEM []byte
	// CAFile is a file with CAPEM, for sslrootcert. Under root nobody but root and the server can read it.
	CAFile string

	programs programs
	dir      *directory
	logFile  string
	password string // of the superuser
	server   *process.Process
}

// Start makes a database cluster and starts its server. It returns when the server answers. ctx bounds the start, not the
// server's life: that ends with [Postgres.Stop]. Nothing is left running after an error. Where the programs are missing the
// error is that of [Available].
func Start(ctx context.Context, options Options) (*Postgres, error) {
	found, err := find()
	if err != nil {
		return nil, err
	}
	if options.Address == "" {
		options.Address = loopback
	}
	p := &Postgres{Host: options.Address, programs: found, password: newPassword(), logFile: options.LogFile}
	if p.dir, err = newDirectory(found.credential); err != nil {
		return nil, err
	}
	if err = p.create(append(options.Names, options.Address, loopback, "localhost")); err == nil {
		err = p.listen(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// create makes the cluster on disk.
func (p *Postgres) create(names []string) error {
	certs, err := newCertificates(names)
	if err != nil {
		return err
	}
	if err = p.dir.fill(certs, p.password); err != nil {
		return err
	}
	p.CAPEM, p.CAFile = certs.ca, p.dir.file("ca.crt")
	if p.logFile == "" {
		p.logFile = p.dir.file("postgres.log")
	}
	// Nothing here has to survive a power cut, and syncing is most of the time.
	cmd := p.dir.command(p.programs.initdb, "--pgdata="+p.dir.file("data"), "--username="+superuser,
		"--pwfile="+p.dir.file("password"), "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	initdb, err := process.Start(cmd)
	if err != nil {
		return err
	}
	if code := initdb.ExitCode(); code != 0 {
		return fmt.Errorf("make a database cluster: initdb ended with %d: %s", code, lastLine(output.String()))
	}
	if err = os.Remove(p.dir.file("password")); err != nil {
		return fmt.Errorf("remove the database's password file: %w", err)
	}
	return nil
}

// listen starts the server for the first time, on a free port.
func (p *Postgres) listen(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		port, err := freePort(ctx, p.Host)
		if err != nil {
			return err
		}
		p.Port = port
		if err = p.Up(ctx); err == nil || attempt == startAttempts || !errors.Is(err, errPortTaken) {
			return err
		}
	}
}

func freePort(ctx context.Context, host string) (int, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, fmt.Errorf("find a free port on %s: %w", host, err)
	}
	_, text, splitErr := net.SplitHostPort(listener.Addr().String())
	port, err := strconv.Atoi(text)
	if err = errors.Join(splitErr, err, listener.Close()); err != nil {
		return 0, fmt.Errorf("find a free port on %s: %w", host, err)
	}
	return port, nil
}

// Up starts a server that [Postgres.Down] has stopped, with the same data at the same address, and returns when it
// answers.
func (p *Postgres) Up(ctx context.Context) error {
	if p.running() {
		return nil
	}
	log, err := os.OpenFile(filepath.Clean(p.logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the database's log: %w", err)
	}
	cmd := p.dir.command(p.programs.postgres, p.arguments()...)
	cmd.Stdout, cmd.Stderr = log, log
	server, err := process.Start(cmd)
	if err = errors.Join(err, log.Close()); err != nil {
		return err
	}
	p.server = server
	if err = p.wait(ctx); err != nil {
		return errors.Join(err, p.Down())
	}
	return nil
}

func (p *Postgres) arguments() []string {
	args := []string{"-D", p.dir.file("data")}
	for _, setting := range []string{
		"listen_addresses=" + p.Host,
		"port=" + strconv.Itoa(p.Port),
		"unix_socket_directories=",
		"hba_file=" + p.dir.file("hba.conf"),
		"ssl=on",
		"ssl_cert_file=" + p.dir.file("server.crt"),
		"ssl_key_file=" + p.dir.file("server.key"),
		"password_encryption=scram-sha-256",
		"fsync=off",
		"shared_buffers=16MB",
		// A statement that fails may hold a password.
		"log_min_error_statement=panic",
	} {
		args = append(args, "-c", setting)
	}
	return args
}

// wait returns when the server answers its superuser.
func (p *Postgres) wait(ctx context.Context) error {
	// Whoever has the port instead of the server may take a connection and never answer.
	alive, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := p.server.Done()
	go func() {
		select {
		case <-ended:
			cancel()
		case <-alive.Done():
		}
	}()
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	for {
		connection, err := p.Connect(alive, superuser)
		if err == nil {
			return connection.Close(ctx)
		}
		select {
		case <-ended:
			return fmt.Errorf("start the database: it ended with %d: %w", p.server.ExitCode(), p.complaint())
		case <-ctx.Done():
			return fmt.Errorf("wait for the database: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// complaint is what the server logged last.
func (p *Postgres) complaint() error {
	log, err := os.ReadFile(p.logFile)
	if err != nil {
		return fmt.Errorf("read its log: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	last := strings.Join(lines[max(0, len(lines)-5):], "\n")
	if strings.Contains(last, "Address already in use") {
		return errPortTaken
	}
	return errors.New(lastLine(last))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

func (p *Postgres) running() bool {
	if p.server == nil {
		return false
	}
	select {
	case <-p.server.Done():
		return false
	default:
		return true
	}
}

// Down stops the server, breaks every connection and keeps the data; [Postgres.Up] starts it again.
func (p *Postgres) Down() error {
	if !p.running() {
		return nil
	}
	// SIGTERM, which process.Stop sends, would wait for the clients to go. An error means that the server has ended.
	_ = syscall.Kill(p.server.PID(), syscall.SIGINT)
	p.server.Stop(stopGrace)
	if code := p.server.ExitCode(); code != 0 {
		return fmt.Errorf("stop the database: it ended with %d: %w", code, p.complaint())
	}
	return nil
}

// Stop ends the server and removes its data.
func (p *Postgres) Stop() error { return errors.Join(p.Down(), p.dir.remove()) }
