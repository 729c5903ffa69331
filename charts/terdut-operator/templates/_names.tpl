{{- define "terdut.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{/* The longest suffix of a name is -leader-election. */}}
{{- define "terdut.fullname" -}}
{{- $name := include "terdut.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- $name = .Values.fullnameOverride -}}
{{- else if not (contains $name .Release.Name) -}}
{{- $name = printf "%s-%s" .Release.Name $name -}}
{{- else -}}
{{- $name = .Release.Name -}}
{{- end -}}
{{- $name | trunc 47 | trimSuffix "-" -}}
{{- end }}

{{- define "terdut.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "terdut.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{/* These never change between two versions of the chart: a selector cannot. */}}
{{- define "terdut.selector" -}}
app.kubernetes.io/name: {{ include "terdut.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "terdut.labels" -}}
{{ include "terdut.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "terdut.image" -}}
{{- $image := .Values.image -}}
{{ $image.repository }}:{{ default .Chart.AppVersion $image.tag }}{{ with $image.digest }}@{{ . }}{{ end }}
{{- end }}

{{/* The rules of a role, from the copy of a manifest in config/. */}}
{{- define "terdut.rules" -}}
{{- $role := .Files.Get (printf "rbac/%s.yaml" .role) | fromYaml -}}
{{- toYaml $role.rules -}}
{{- end }}
