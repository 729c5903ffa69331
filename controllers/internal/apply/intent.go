package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// hashLength is how many hexadecimal digits of the SHA-256 tell one intent from another.
const hashLength = 16

// identityFields are in every intent and owned by nobody.
var identityFields = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
)

// intent is a child as it should be.
type intent struct {
	key Key
	// content is the whole configuration. It is sent as a copy: an apply overwrites its argument with the answer.
	content *unstructured.Unstructured
	// fields is the content without the fields that nobody owns.
	fields *typed.TypedValue
	hash   string
}

// exact returns a hash of everything, the values of a Secret too. It never leaves the process.
func (i *intent) exact() string {
	// Keys are sorted, and what came from JSON can be written as JSON.
	whole, err := json.Marshal(i.content.Object)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(whole)
	return hex.EncodeToString(sum[:])
}

func (i *intent) record() recordKey { return recordKey{kind: i.key.Kind, name: i.key.Name} }

// newIntent reads what a caller rendered and checks it.
func (e *Engine) newIntent(owner client.Object, child runtime.ApplyConfiguration) (*intent, error) {
	raw, err := json.Marshal(child)
	if err != nil {
		return nil, fmt.Errorf("encode an intent of type %T: %w", child, err)
	}
	content := &unstructured.Unstructured{}
	if err = content.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("decode an intent of type %T: %w", child, err)
	}
	// Who an object is and which version of it is meant is settled here for each request.
	unstructured.RemoveNestedField(content.Object, "metadata", "uid")
	unstructured.RemoveNestedField(content.Object, "metadata", "resourceVersion")
	want, err := e.checkIntent(content)
	if err != nil {
		return nil, err
	}
	if err = e.checkOwned(owner, want); err != nil {
		return nil, err
	}
	return want, nil
}

// checkIntent checks the content against the schema of its kind and takes it over.
func (e *Engine) checkIntent(content *unstructured.Unstructured) (*intent, error) {
	gvk := content.GroupVersionKind()
	want := &intent{
		key: Key{
			Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: content.GetNamespace(), Name: content.GetName(),
		},
		content: content,
	}
	if want.key.Name == "" {
		return nil, fmt.Errorf("intent of kind %s: metadata.name is empty, and a generated name cannot be applied", gvk.Kind)
	}
	whole, err := e.schemas.typed(content, gvk)
	if err != nil {
		if isSecret(gvk) {
			// What does not fit may be quoted, and it may be a value.
			return nil, fmt.Errorf("intent of %s does not fit the schema of its kind", want.key)
		}
		return nil, fmt.Errorf("intent of %s does not fit the schema of its kind: %w", want.key, err)
	}
	want.fields = whole.RemoveItems(identityFields)
	if want.hash, err = hash(content); err != nil {
		return nil, fmt.Errorf("hash the intent of %s: %w", want.key, err)
	}
	return want, nil
}

// checkOwned checks that the child can belong to owner and says so.
func (e *Engine) checkOwned(owner client.Object, want *intent) error {
	if namespace := owner.GetNamespace(); namespace != "" && want.key.Namespace != namespace {
		return fmt.Errorf("intent of %s: the owner is in namespace %q, and a child must be there too", want.key, namespace)
	}
	if err := e.checkScope(want.key); err != nil {
		return err
	}
	for _, reference := range want.content.GetOwnerReferences() {
		if reference.Controller != nil && *reference.Controller && reference.UID == owner.GetUID() && owner.GetUID() != "" {
			return nil
		}
	}
	return fmt.Errorf("intent of %s: the controlling owner reference to %q is missing: render it with Engine.OwnerReference",
		want.key, client.ObjectKeyFromObject(owner))
}

func (e *Engine) checkScope(key Key) error {
	if e.mapper == nil {
		return nil
	}
	mapping, err := e.mapper.RESTMapping(key.gvk().GroupKind(), key.Version)
	if err != nil {
		return fmt.Errorf("intent of %s: %w", key, err)
	}
	if namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace; namespaced != (key.Namespace != "") {
		return fmt.Errorf("intent of %s: the scope of the kind is %s, and metadata.namespace is %q",
			key, mapping.Scope.Name(), key.Namespace)
	}
	return nil
}

// hash returns the first digits of the SHA-256 of the content as JSON with sorted keys. It stands in a status that many may
// read, so the values of a Secret are not in it, only their names.
func hash(content *unstructured.Unstructured) (string, error) {
	object := content.Object
	if isSecret(content.GroupVersionKind()) {
		object = maps.Clone(object)
		for _, field := range []string{"data", "stringData"} {
			if values, ok := object[field].(map[string]any); ok {
				object[field] = slices.Sorted(maps.Keys(values))
			}
		}
	}
	canonical, err := json.Marshal(object)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])[:hashLength], nil
}

func isSecret(gvk schema.GroupVersionKind) bool { return gvk.Group == "" && gvk.Kind == "Secret" }
