{{- define "tarn.selector" -}}
app.kubernetes.io/name: tarn
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "tarn.labels" -}}
{{ include "tarn.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: tarn-{{ .Chart.Version }}
{{- end }}
{{- /* The file tarnd.yaml: the keys of the chart, and those of the values over them. */}}
{{- define "tarn.config" -}}
{{- $set := dict
  "listen" "0.0.0.0:8000"
  "metrics" (dict "listen" "0.0.0.0:9000")
  "data" "/var/lib/tarn"
  "database_file" "/run/secrets/tarn/database-url"
  "log" (dict "format" "json")
  "auth" (dict "master_key_file" "/run/secrets/tarn/master-key")
  "store" (dict "s3" (dict "secret_access_key_file" "/run/secrets/tarn/s3-secret")) -}}
{{- toYaml (mergeOverwrite $set (deepCopy .Values.config)) }}
{{- end }}
