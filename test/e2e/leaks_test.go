package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// shortest is the length of a value that is looked for: a shorter one is found by chance.
const shortest = 16

// sealed proves that no value of a Secret stands anywhere else: in a resource, an object, an Event or a log.
func (w *world) sealed(ctx context.Context) {
	GinkgoHelper()
	places := w.places(ctx)
	for _, namespace := range []string{platform, payments, legacy} {
		secrets := &corev1.SecretList{}
		Expect(w.kube.List(ctx, secrets, client.InNamespace(namespace))).To(Succeed())
		for _, secret := range secrets.Items {
			if secret.Type != corev1.SecretTypeOpaque && secret.Type != "" {
				continue // Helm keeps whole releases in Secrets
			}
			for name, value := range secret.Data {
				if name == v1alpha1.CredentialsURLKey || name == v1alpha1.CredentialsInternalURLKey {
					continue // the address is no secret, and the key that may be in it stands beside it
				}
				for where, text := range places {
					if len(value) >= shortest && holds(text, string(value)) {
						Fail(fmt.Sprintf("%s of Secret %s/%s stands in the clear in %s", name, namespace, secret.Name, where))
					}
				}
			}
		}
	}
}

// holds tells whether a text has a value, in one of the ways in which it could be written.
func holds(text, value string) bool {
	return strings.Contains(text, value) ||
		strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(value))) ||
		strings.Contains(text, url.QueryEscape(value))
}

// places are all texts that people read, by name.
func (w *world) places(ctx context.Context) map[string]string {
	GinkgoHelper()
	objects := "deployments,replicasets,pods,services,configmaps,events"
	if len(w.definitions(ctx)) > 0 {
		objects += "," + kinds
	}
	texts := map[string]string{"the objects of the cluster": w.kubectlOK(ctx, "get", objects, "-A", "-o", "json")}
	pods := &corev1.PodList{}
	Expect(w.kube.List(ctx, pods)).To(Succeed())
	for _, pod := range pods.Items {
		switch pod.Namespace {
		case system, platform, payments, legacy:
		default:
			continue
		}
		// A pod that goes or has not come yet has no log to read.
		if log, err := w.kubectl(ctx, "logs", "-n", pod.Namespace, pod.Name, "--all-containers"); err == nil {
			texts["the log of pod "+pod.Name] = log
		}
	}
	return texts
}
