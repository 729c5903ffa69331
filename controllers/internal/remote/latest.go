package remote

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
)

// restsOnLatest tells the steps that an old version of the resource may ask for
// and the present one not.
func (s step) restsOnLatest() bool {
	return s.do == create || s.do == update || s.do == discard
}

// proveLatest makes sure that the resource is not from before it remembered
// something, as a cache that lags shows it. What nothing remembers is deleted,
// what was begun and is not there is made again, and no write of ours, which a
// stale version would be refused, comes before that. Where one does, as in most
// passes that make something, nobody is asked. It lists because the operator has
// no other right to read past the cache here.
func (p *pass[T, A, D]) proveLatest(ctx context.Context) error {
	if p.latest {
		return nil
	}
	list := p.NewList()
	if err := p.Live.List(ctx, list, apply.Itself(p.obj)); err != nil {
		return fmt.Errorf("read %s before something of it is made or deleted: %w", client.ObjectKeyFromObject(p.obj), err)
	}
	err := meta.EachListItem(list, func(item runtime.Object) error {
		if o, ok := item.(client.Object); ok && o.GetUID() == p.obj.GetUID() {
			p.latest = o.GetResourceVersion() == p.obj.GetResourceVersion()
		}
		return nil
	})
	if err == nil && !p.latest {
		err = errMoved
	}
	return err
}
