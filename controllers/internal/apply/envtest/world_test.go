package apply_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
)

var labels = map[string]string{"app.kubernetes.io/name": "demo"}

// world is an owner, its status and what it wants.
type world struct {
	owner *corev1.ConfigMap
	// records is the status.
	records []apply.Record
	// remembered counts how often the records were stored before a creation.
	remembered int
	// engine is the suite's, unless a test has one of its own.
	engine *apply.Engine
	// normalises says that the intent has a value that the API server stores as another: applies may change nothing.
	normalises bool
	// image, url, env, selector and only (the kinds to render; nil is all) are the spec.
	image    string
	url      string
	env      []*corev1ac.EnvVarApplyConfiguration
	selector map[string]string
	only     []string
	// recreate asks for the strategy Recreate. The default is not to name one.
	recreate bool
	// secretType and clusterIP are not named either by default.
	secretType corev1.SecretType
	clusterIP  string
}

func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	return &world{owner: newOwner(ctx), engine: engine, image: "registry.test/demo:1", url: "http://demo", selector: labels}
}

var prunable = []schema.GroupVersionKind{
	appsv1.SchemeGroupVersion.WithKind("Deployment"), corev1.SchemeGroupVersion.WithKind("Service"),
}

func (w *world) reference() *metav1ac.OwnerReferenceApplyConfiguration {
	GinkgoHelper()
	reference, err := engine.OwnerReference(w.owner)
	Expect(err).NotTo(HaveOccurred())
	return reference
}

func (w *world) renderDeployment() *appsv1ac.DeploymentApplyConfiguration {
	env := append([]*corev1ac.EnvVarApplyConfiguration{
		corev1ac.EnvVar().WithName("MODE").WithValue("quiet"),
		corev1ac.EnvVar().WithName("ADDR").WithValue("$(MODE):8080"),
	}, w.env...)
	container := corev1ac.Container().WithName("server").WithImage(w.image).
		WithEnv(env...).
		WithPorts(corev1ac.ContainerPort().WithName("http").WithContainerPort(8080)).
		WithReadinessProbe(corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithPath("/healthz").WithPort(intstr.FromString("http")))).
		WithResources(corev1ac.ResourceRequirements().WithRequests(corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
		})).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("tmp").WithMountPath("/tmp"))
	spec := appsv1ac.DeploymentSpec().
		WithReplicas(1).
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(w.selector)).
		WithTemplate(corev1ac.PodTemplateSpec().WithLabels(w.selector).WithSpec(corev1ac.PodSpec().
			WithContainers(container).
			WithVolumes(corev1ac.Volume().WithName("tmp").WithEmptyDir(corev1ac.EmptyDirVolumeSource()))))
	if w.recreate {
		spec.WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType))
	}
	return appsv1ac.Deployment("demo", w.owner.Namespace).WithLabels(labels).WithOwnerReferences(w.reference()).WithSpec(spec)
}

func (w *world) renderService() *corev1ac.ServiceApplyConfiguration {
	spec := corev1ac.ServiceSpec().WithSelector(labels).
		WithPorts(corev1ac.ServicePort().WithName("http").WithPort(80).WithTargetPort(intstr.FromString("http")))
	if w.clusterIP != "" {
		spec.WithClusterIP(w.clusterIP)
	}
	return corev1ac.Service("demo", w.owner.Namespace).WithLabels(labels).WithOwnerReferences(w.reference()).WithSpec(spec)
}

func (w *world) renderSecret() *corev1ac.SecretApplyConfiguration {
	secret := corev1ac.Secret("demo", w.owner.Namespace).WithLabels(labels).WithOwnerReferences(w.reference()).
		WithData(map[string][]byte{"url": []byte(w.url)})
	if w.secretType != "" {
		secret.WithType(w.secretType)
	}
	return secret
}

// children renders the kinds named in only, or all.
func (w *world) children() []runtime.ApplyConfiguration {
	var children []runtime.ApplyConfiguration
	wants := func(kind string) bool { return w.only == nil || slices.Contains(w.only, kind) }
	if wants("Secret") {
		children = append(children, w.renderSecret())
	}
	if wants("Service") {
		children = append(children, w.renderService())
	}
	if wants("Deployment") {
		children = append(children, w.renderDeployment())
	}
	return children
}

// pass runs one pass and stores the records, as the owner's controller does.
func (w *world) pass(ctx context.Context) (apply.Report, error) {
	report, err := w.engine.Converge(ctx, w.owner, w.records, w.children(), prunable,
		func(_ context.Context, records []apply.Record) error {
			w.remembered++
			w.records = records
			return nil
		})
	w.records = report.Records
	if !w.normalises {
		noOps += len(report.NoOps)
	}
	return report, err
}

// restart gives the world an engine that remembers nothing but what the records say.
func (w *world) restart(change ...func(*apply.Options)) {
	options := apply.Options{Client: cached, Live: live, Scheme: admin.Scheme()}
	for _, f := range change {
		f(&options)
	}
	w.engine = apply.New(options)
}

// seen waits until the cache has the Deployment as somebody else has left it.
func (w *world) seen(ctx context.Context) {
	GinkgoHelper()
	w.caughtUp(ctx, apply.Report{Live: map[apply.Key]client.Object{{Kind: "Deployment"}: w.liveDeployment(ctx)}})
}

// rests checks that nothing is left to do, and that nothing is asked to find out.
func (w *world) rests(ctx context.Context) apply.Report {
	GinkgoHelper()
	requests.take()
	report, err := w.pass(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(report.Changes).To(BeEmpty())
	Expect(requests.take()).To(BeEmpty())
	return report
}

// container returns the container of that name, or nil.
func (w *world) container(ctx context.Context, name string) *corev1.Container {
	GinkgoHelper()
	containers := w.liveDeployment(ctx).Spec.Template.Spec.Containers
	if i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name }); i >= 0 {
		return &containers[i]
	}
	return nil
}

// settle runs a pass that must succeed and waits until the cache has what it made.
func (w *world) settle(ctx context.Context) apply.Report {
	GinkgoHelper()
	report, err := w.pass(ctx)
	Expect(err).NotTo(HaveOccurred())
	w.caughtUp(ctx, report)
	return report
}

// caughtUp waits until the cache has the objects as they are on the API server.
func (w *world) caughtUp(ctx context.Context, report apply.Report) {
	GinkgoHelper()
	for key, object := range report.Live {
		same, ok := object.DeepCopyObject().(client.Object)
		Expect(ok).To(BeTrue())
		live, ok := object.DeepCopyObject().(client.Object)
		Expect(ok).To(BeTrue())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(object), live)).To(Succeed())
		Eventually(func() (string, error) {
			err := cached.Get(ctx, client.ObjectKeyFromObject(object), same)
			return same.GetResourceVersion(), err
		}).Should(Equal(live.GetResourceVersion()), key.String())
	}
}

func (w *world) liveDeployment(ctx context.Context) *appsv1.Deployment {
	GinkgoHelper()
	live := &appsv1.Deployment{}
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: w.owner.Namespace, Name: "demo"}, live)).To(Succeed())
	return live
}

func (w *world) record(kind string) apply.Record {
	GinkgoHelper()
	index := slices.IndexFunc(w.records, func(r apply.Record) bool { return r.Kind == kind })
	Expect(index).To(BeNumerically(">=", 0), "a record of kind "+kind)
	return w.records[index]
}
