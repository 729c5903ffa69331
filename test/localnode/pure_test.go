package localnode

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestExpand(t *testing.T) {
	variables := map[string]string{"A": "a", "B": "$(A)"}
	for text, want := range map[string]string{
		"":               "",
		"plain":          "plain",
		"$(A)-$(A)":      "a-a",
		"$(B)":           "$(A)",
		"$$(A)":          "$(A)",
		"$$$(A)":         "$a",
		"$(NONE)$(A)":    "$(NONE)a",
		"$(A":            "$(A",
		"100$":           "100$",
		"$x $(A)":        "$x a",
		"p@ss$$w$(A)rd#": "p@ss$ward#",
	} {
		t.Run(text, func(t *testing.T) { NewWithT(t).Expect(expand(text, variables)).To(Equal(want)) })
	}
}

func TestRepository(t *testing.T) {
	for image, want := range map[string]string{
		"server":                                   "server",
		"server:v1":                                "server",
		"registry.example.com:5000/a/server":       "registry.example.com:5000/a/server",
		"registry.example.com:5000/a/server:v1":    "registry.example.com:5000/a/server",
		"registry.example.com/server:v1@sha256:00": "registry.example.com/server",
	} {
		t.Run(image, func(t *testing.T) { NewWithT(t).Expect(repository(image)).To(Equal(want)) })
	}
}

func TestCommandLine(t *testing.T) {
	g := NewWithT(t)
	images := map[string][]string{"server": {"/bin/any"}, "server:v2": {"/bin/second", "--new"}}
	env := []corev1.EnvVar{{Name: "A", Value: "a"}}
	line, known := commandLine(images, &corev1.Container{Image: "server:v1", Command: []string{"/server", "run"}, Args: []string{"$(A)"}}, env)
	g.Expect(known).To(BeTrue())
	g.Expect(line).To(Equal([]string{"/bin/any", "run", "a"}))
	line, known = commandLine(images, &corev1.Container{Image: "server:v2"}, env)
	g.Expect(known).To(BeTrue())
	g.Expect(line).To(Equal([]string{"/bin/second", "--new"}), "the full name counts first")
	_, known = commandLine(images, &corev1.Container{Image: "other:v1"}, env)
	g.Expect(known).To(BeFalse())
}

func TestServiceName(t *testing.T) {
	for host, want := range map[string]string{
		"web.shop.svc":                "shop/web",
		"web.shop.svc.cluster.local":  "shop/web",
		"WEB.shop.svc.cluster.local.": "shop/web",
		"web.shop":                    "",
		"web.shop.svc.example.com":    "",
		"example.com":                 "",
		".shop.svc":                   "",
		"127.0.0.1":                   "",
	} {
		t.Run(host, func(t *testing.T) {
			service, namespace, ok := serviceName(host)
			g := NewWithT(t)
			g.Expect(ok).To(Equal(want != ""))
			if ok {
				g.Expect(namespace + "/" + service).To(Equal(want))
			}
		})
	}
}

// fixedSource knows one Secret and one ConfigMap.
type fixedSource struct{}

func (fixedSource) secret(_ context.Context, _, name string) (map[string]string, error) {
	if name == "known" {
		return map[string]string{"b": "secret b", "a": "secret a"}, nil
	}
	return nil, nil
}

func (fixedSource) configMap(_ context.Context, _, name string) (map[string]string, error) {
	if name == "known" {
		return map[string]string{"a": "config a"}, nil
	}
	return nil, nil
}

func reference(name string) corev1.LocalObjectReference {
	return corev1.LocalObjectReference{Name: name}
}

func TestResolveEnv(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", Labels: map[string]string{"x/y": "label"}}}
	secretKey := func(name, key string, optional *bool) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: reference(name), Key: key, Optional: optional}}
	}
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	for name, test := range map[string]struct {
		from []corev1.EnvFromSource
		env  []corev1.EnvVar
		want string
		err  string
	}{
		"later sources win, and keep their place": {
			from: []corev1.EnvFromSource{
				{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: reference("known")}},
				{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: reference("known")}},
			},
			env:  []corev1.EnvVar{{Name: "b", Value: "$(a)"}},
			want: "a=config a b=config a",
		},
		"a prefix is put in front": {
			from: []corev1.EnvFromSource{{Prefix: "P_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: reference("known")}}},
			want: "P_a=config a",
		},
		"optional references may be missing": {
			from: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: reference("none"), Optional: ptr.To(true)}}},
			env: []corev1.EnvVar{
				{Name: "x", ValueFrom: secretKey("none", "k", ptr.To(true))},
				{Name: "y", ValueFrom: secretKey("known", "k", ptr.To(true))},
				{Name: "z", Value: "z"},
			},
			want: "z=z",
		},
		"fields of the pod": {
			env: []corev1.EnvVar{
				{Name: "x", ValueFrom: field("metadata.name")},
				{Name: "y", ValueFrom: field("metadata.labels['x/y']")},
				{Name: "z", ValueFrom: field("metadata.annotations['none']")},
			},
			want: "x=p y=label z=",
		},
		"an unknown field": {
			env: []corev1.EnvVar{{Name: "x", ValueFrom: field("status.none")}},
			err: "variable x: localnode does not know the field status.none",
		},
		"a missing secret": {
			env: []corev1.EnvVar{{Name: "x", ValueFrom: secretKey("none", "k", nil)}},
			err: `variable x: secret "none" not found`,
		},
		"a missing key": {
			env: []corev1.EnvVar{{Name: "x", ValueFrom: secretKey("known", "k", nil)}},
			err: "variable x: couldn't find key k in Secret n/known",
		},
		"a kind of reference that is not played": {
			env: []corev1.EnvVar{{Name: "x", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}}},
			err: "variable x: localnode resolves secretKeyRef, configMapKeyRef and fieldRef only",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			env, err := resolveEnv(context.Background(), fixedSource{}, pod, &corev1.Container{EnvFrom: test.from, Env: test.env})
			if test.err != "" {
				g.Expect(err).To(MatchError(test.err))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			var lines []string
			for _, variable := range env {
				lines = append(lines, variable.Name+"="+variable.Value)
			}
			g.Expect(strings.Join(lines, " ")).To(Equal(test.want))
		})
	}
}

func TestTrial(t *testing.T) {
	g := NewWithT(t)
	bad := errors.New("bad")
	begin := time.Unix(0, 0)
	quick := trial{probe: &corev1.Probe{PeriodSeconds: 10, FailureThreshold: 2, SuccessThreshold: 2}}
	g.Expect(quick.judge(nil, begin)).To(Equal(undecided))
	g.Expect(quick.judge(nil, begin)).To(Equal(passed))
	g.Expect(quick.judge(bad, begin)).To(Equal(undecided))
	g.Expect(quick.judge(bad, begin)).To(Equal(broken))

	slow := trial{probe: &corev1.Probe{PeriodSeconds: 10, FailureThreshold: 2}, patient: true}
	g.Expect(slow.judge(bad, begin)).To(Equal(undecided))
	g.Expect(slow.judge(bad, begin.Add(9*time.Second))).To(Equal(undecided), "a node would not have asked again yet")
	g.Expect(slow.judge(bad, begin.Add(10*time.Second))).To(Equal(broken))
	g.Expect(slow.judge(nil, begin.Add(11*time.Second))).To(Equal(passed))
	g.Expect(slow.judge(bad, begin.Add(12*time.Second))).To(Equal(undecided), "a success starts the row again")
}

func TestPhase(t *testing.T) {
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
	}
	fresh, runs := view{name: "c"}, view{name: "c", launched: true, started: true, ready: true}
	succeeded := view{name: "c", launched: true, finished: true, state: ended(0)}
	failed := view{name: "c", launched: true, finished: true, state: ended(1)}
	for name, test := range map[string]struct {
		inits, mains []view
		want         corev1.PodPhase
		ready        corev1.ConditionStatus
	}{
		"nothing runs":          {mains: []view{fresh}, want: corev1.PodPending, ready: corev1.ConditionFalse},
		"an init runs":          {inits: []view{{launched: true}}, mains: []view{fresh}, want: corev1.PodPending, ready: corev1.ConditionFalse},
		"an init failed":        {inits: []view{failed}, mains: []view{fresh}, want: corev1.PodFailed, ready: corev1.ConditionFalse},
		"all run":               {inits: []view{succeeded}, mains: []view{runs, runs}, want: corev1.PodRunning, ready: corev1.ConditionTrue},
		"one of two has begun":  {mains: []view{runs, fresh}, want: corev1.PodPending, ready: corev1.ConditionFalse},
		"one of two has failed": {mains: []view{runs, failed}, want: corev1.PodRunning, ready: corev1.ConditionFalse},
		"all succeeded":         {mains: []view{succeeded}, want: corev1.PodSucceeded, ready: corev1.ConditionFalse},
		"all ended, one badly":  {mains: []view{succeeded, failed}, want: corev1.PodFailed, ready: corev1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			writer := statusWriter{pod: &corev1.Pod{}, inits: test.inits, mains: test.mains}
			status := writer.write("192.0.2.2", metav1.Time{})
			g.Expect(status.Phase).To(Equal(test.want))
			g.Expect(status.Conditions).To(ContainElement(And(
				HaveField("Type", corev1.PodReady), HaveField("Status", test.ready))))

			writer.pod.Status = status
			g.Expect(writer.write("192.0.2.2", metav1.Time{})).To(Equal(status), "nothing has happened, nothing is written")
		})
	}
}
