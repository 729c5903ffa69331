{{/* What the schema cannot see, because it looks at one value at a time. */}}
{{- define "terdut.checks" -}}
{{- $own := .Release.Namespace -}}
{{- $watched := .Values.watchNamespaces -}}
{{- if and (not .Values.allowOwnNamespace) (has $own $watched) -}}
{{- fail (printf "watchNamespaces names %q, the namespace of the release: deleting it would remove the operator before it has cleaned up. Install the operator in a namespace of its own, or set allowOwnNamespace: true" $own) -}}
{{- end -}}
{{- with .Values.server -}}
{{- if .enabled -}}
{{- if not .namespace -}}
{{- fail "server.enabled needs server.namespace: name an existing namespace other than the release's" -}}
{{- end -}}
{{- if and (eq .namespace $own) (not $.Values.allowOwnNamespace) -}}
{{- fail (printf "server.namespace is %q, the namespace of the release: deleting it would remove the operator before it has cleaned up. Name another one, or set allowOwnNamespace: true" $own) -}}
{{- end -}}
{{- if and $watched (not (has .namespace $watched)) -}}
{{- fail (printf "server.namespace is %q, which is not among watchNamespaces: the operator would never see the server. Add it there" .namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $names := list -}}
{{- range .Values.extraEnv -}}
{{- if has .name $names -}}
{{- fail (printf "extraEnv names %q twice: remove one of them" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- end }}
