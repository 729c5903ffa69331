package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// prune deletes the children that are recorded and no longer rendered. Records of kinds that may not be deleted stay.
func (p *pass) prune(ctx context.Context, prunable []schema.GroupVersionKind) error {
	kinds := make(map[string]schema.GroupVersionKind, len(prunable))
	for _, gvk := range prunable {
		kinds[gvk.Kind] = gvk
	}
	rendered := make(map[recordKey]bool, len(p.intents))
	for _, want := range p.intents {
		rendered[want.record()] = true
	}
	for _, record := range p.sorted() {
		gvk, mayDelete := kinds[record.Kind]
		if rendered[record.key()] || !mayDelete {
			continue
		}
		key := Key{
			Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: p.owner.GetNamespace(), Name: record.Name,
		}
		if err := p.pruneOne(ctx, key, record); err != nil {
			return err
		}
	}
	return nil
}

// pruneOne deletes a child if owner reference and record agree that it is ours.
func (p *pass) pruneOne(ctx context.Context, key Key, record Record) error {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(key.gvk())
	err := p.Engine.live.Get(ctx, key.objectKey(), live)
	switch {
	case apierrors.IsNotFound(err):
		delete(p.records, record.key())
		return nil
	case meta.IsNoMatchError(err):
		// The kind is not served now. When it is again, a 404 tells whether the child is gone.
		return nil
	case err != nil:
		return fmt.Errorf("read %s, which is no longer wanted: %w", key, err)
	}
	switch owned := metav1.IsControlledBy(live, p.owner); {
	case record.UID != "" && record.UID != live.UID, record.UID == "" && !owned:
		// What was recorded is gone, or never was. What bears its name now is not ours to delete.
		delete(p.records, record.key())
		return nil
	case !owned:
		p.report.Kept = append(p.report.Kept, key)
		return nil
	case live.DeletionTimestamp != nil:
		delete(p.records, record.key())
		return nil
	}
	if err = p.proveOwner(ctx); err != nil {
		return err
	}
	err = p.client.Delete(ctx, live,
		client.Preconditions{UID: ptr.To(live.UID), ResourceVersion: ptr.To(live.ResourceVersion)},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return requestError("delete", key, err)
	}
	delete(p.records, record.key())
	if err == nil {
		p.report.Changes = append(p.report.Changes, Change{Key: key, Action: Deleted})
	}
	return nil
}
