package rbac

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// directory, at the root of the source tree, holds one file per suite. Git ignores it.
const directory = ".rbac"

// Operator is the user as whom suites run the operator, and the name of its
// ServiceAccount.
const Operator = "terdut-operator"

// Usage is what the operator used in one suite.
type Usage struct {
	Used []Right `json:"used"`
	// Refused are the rights that it lacked.
	Refused []Right `json:"refused,omitempty"`
}

// Recorder turns the audit log of a suite into its usage.
type Recorder struct {
	path, log, temporary string
}

// Record forgets what an earlier run of the suite has left.
func Record(suite string) (*Recorder, error) {
	root, err := figures.Root()
	if err != nil {
		return nil, err
	}
	r := &Recorder{path: filepath.Join(root, directory, suite+".json")}
	if err = os.MkdirAll(filepath.Dir(r.path), 0o755); err != nil {
		return nil, fmt.Errorf("make the directory for used rights: %w", err)
	}
	if err = os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("forget the used rights of an earlier run: %w", err)
	}
	if r.temporary, err = os.MkdirTemp("", "terdut-rbac-"); err != nil {
		return nil, fmt.Errorf("make a directory for the audit log: %w", err)
	}
	r.log = filepath.Join(r.temporary, "audit.log")
	return r, nil
}

// AuditLog is the file that the API server must write, at the level Metadata.
func (r *Recorder) AuditLog() string { return r.log }

// Save reads the audit log, leaves the usage and removes the log. Only the first
// call does something.
func (r *Recorder) Save() error {
	if r.temporary == "" {
		return nil
	}
	usage, err := r.read()
	if err != nil {
		return err
	}
	content, err := json.MarshalIndent(usage, "", "  ")
	if err != nil {
		return fmt.Errorf("write used rights: %w", err)
	}
	if err = os.WriteFile(r.path, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("write used rights: %w", err)
	}
	return r.Discard()
}

// Discard removes the log and leaves nothing. After Save it does nothing.
func (r *Recorder) Discard() error {
	err := os.RemoveAll(r.temporary)
	r.temporary = ""
	return err
}

// read reads all parts of the log: the API server begins a new file at a size.
func (r *Recorder) read() (*Usage, error) {
	parts, err := filepath.Glob(filepath.Join(r.temporary, "audit*.log"))
	if err != nil {
		return nil, err
	}
	usage := &Usage{}
	for _, part := range parts {
		file, err := os.Open(part)
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<24)
		for err == nil && lines.Scan() {
			err = usage.note(lines.Bytes())
		}
		if err = errors.Join(err, lines.Err(), file.Close()); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
	}
	for _, rights := range []*[]Right{&usage.Used, &usage.Refused} {
		slices.SortFunc(*rights, compare)
		*rights = slices.Compact(*rights)
	}
	return usage, nil
}

// event is what is needed of an audit event.
type event struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	ImpersonatedUser struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	ObjectRef *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		APIGroup    string `json:"apiGroup"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Annotations map[string]string `json:"annotations"`
}

// note notes what an audit event says about the operator.
func (u *Usage) note(line []byte) error {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	who := e.User.Username
	if e.ImpersonatedUser.Username != "" {
		who = e.ImpersonatedUser.Username
	}
	account := strings.HasPrefix(who, "system:serviceaccount:") && strings.HasSuffix(who, ":"+Operator)
	if who != Operator && !account || e.ObjectRef == nil {
		return nil
	}
	right := Right{Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource, Verb: e.Verb}
	if e.ObjectRef.Subresource != "" {
		right.Resource += "/" + e.ObjectRef.Subresource
	}
	switch {
	case e.Annotations["authorization.k8s.io/decision"] != "allow":
		u.Refused = append(u.Refused, right)
		return nil
	case e.Verb == "patch" && e.ResponseStatus.Code == 201:
		// A server-side apply that makes the object needs both.
		u.Used = append(u.Used, Right{Group: right.Group, Resource: right.Resource, Verb: "create"})
	}
	u.Used = append(u.Used, right)
	return nil
}
