{{/* A map without what is empty: null, "", [] and {}. false and 0 stay. As YAML, since a template returns text only. */}}
{{- define "terdut.compact" -}}
{{- $out := dict -}}
{{- range $key, $value := . -}}
{{- if kindIs "map" $value -}}
{{- $value = include "terdut.compact" $value | fromYaml -}}
{{- end -}}
{{- if not (or (kindIs "invalid" $value) (and (or (kindIs "map" $value) (kindIs "slice" $value) (kindIs "string" $value)) (empty $value))) -}}
{{- $_ := set $out $key $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end }}

{{/* The reference to a Secret that the values may leave without a name: then there is none. */}}
{{- define "terdut.secret" -}}
{{- if and . .name -}}
{{- include "terdut.compact" . -}}
{{- end -}}
{{- end }}

{{/* The values of the terdut-server chart as the spec of a TerdutServer. Few keys have another name there. */}}
{{- define "terdut.server.spec" -}}
{{- $values := . -}}
{{- $networking := merge (dict "gatewayListener" .networking.listener) (omit .networking "listener") -}}
{{- $database := merge (dict "passwordSecretRef" (include "terdut.secret" .database.passwordSecret | fromYaml)) (omit .database "passwordSecret") -}}
{{- $notify := merge (dict "tokenSecretRef" (include "terdut.secret" .notify.tokenSecret | fromYaml)) (omit .notify "tokenSecret") -}}
{{- $oidc := dict -}}
{{- if .oidc.enabled -}}
{{- $oidc = merge (dict "clientSecretRef" (include "terdut.secret" .oidc.clientSecret | fromYaml)) (omit .oidc "clientSecret") -}}
{{- end -}}
{{- $spec := dict
      "image" .image
      "replicas" .replicas
      "networking" $networking
      "database" $database
      "sweeper" .sweeper
      "deadman" .deadman
      "notify" $notify
      "oidc" $oidc
      "passwordLogin" .passwordLogin -}}
{{- mergeOverwrite (include "terdut.compact" $spec | fromYaml) (deepCopy .spec) | toYaml -}}
{{- end }}
