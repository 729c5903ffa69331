package testenv

import (
	"context"
	"fmt"
	"os"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// BindIn gives the operator's user the Role of a watched namespace, in that
// namespace.
func (e *Env) BindIn(ctx context.Context, namespace string) error {
	role, err := NamespacedRole()
	if err != nil {
		return err
	}
	role.Namespace = namespace
	if err := e.Admin.Create(ctx, role); err != nil {
		return fmt.Errorf("create the Role of a watched namespace: %w", err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: operatorUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}},
	}
	if err := e.Admin.Create(ctx, binding); err != nil {
		return fmt.Errorf("bind the Role of a watched namespace: %w", err)
	}
	return nil
}

// NamespacedRole is the Role that the manifests put into each watched
// namespace.
func NamespacedRole() (*rbacv1.Role, error) {
	role := &rbacv1.Role{}
	return role, readManifest(role, "config", "namespaced", "watched", "role.yaml")
}

// ClusterRole is the generated role of an operator that watches the whole
// cluster.
func ClusterRole() (*rbacv1.ClusterRole, error) {
	role := &rbacv1.ClusterRole{}
	return role, readManifest(role, "config", "rbac", "role.yaml")
}

func readManifest(into any, path ...string) error {
	raw, err := os.ReadFile(Path(path...))
	if err != nil {
		return fmt.Errorf("read a manifest: %w", err)
	}
	if err := yaml.UnmarshalStrict(raw, into); err != nil {
		return fmt.Errorf("read %s: %w", Path(path...), err)
	}
	return nil
}
