{{- define "berth.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "berth.labels" -}}
app.kubernetes.io/name: berth
app.kubernetes.io/component: {{ . }}
{{- end }}

{{/* The autoscaler adds pods instead of processes, and the preStop hook replaces DRAIN_DELAY. */}}
{{- define "berth.settings" -}}
{{- $fixed := dict
  "HOST" "0.0.0.0"
  "PORT" "8080"
  "API_PROCESSES" "1"
  "DRAIN_DELAY" "0s"
  "METRICS_PORT" "9090"
  "DATA_DIR" "/data"
  "RUNTIME" "kubernetes"
  "KUBERNETES_NAMESPACE" .Release.Namespace -}}
{{- toYaml (mergeOverwrite $fixed .Values.settings) }}
{{- end }}

{{- define "berth.secrets" -}}
{{- if .Values.postgresql.enabled -}}
- secretRef:
    name: berth-postgresql
- secretRef:
    name: {{ .Values.secret }}
    optional: true
{{- else -}}
- secretRef:
    name: {{ .Values.secret }}
{{- end }}
{{- end }}

{{- define "berth.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "berth.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* What all pods of Berth share: a list of the component's name, its values, and the root. */}}
{{- define "berth.pod" -}}
{{- $component := index . 0 -}}
{{- $values := index . 1 -}}
{{- $root := index . 2 -}}
metadata:
  labels:
    {{- include "berth.labels" $component | nindent 4 }}
    app.kubernetes.io/part-of: berth
  annotations:
    # New settings restart the pods.
    checksum/settings: {{ include "berth.settings" $root | sha256sum | trunc 16 | quote }}
spec:
  serviceAccountName: berth-{{ $component }}
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  # At least the preStop hook and the 45 seconds of a stop
  terminationGracePeriodSeconds: 60
  securityContext:
    {{- include "berth.podSecurity" 1000 | nindent 4 }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "berth.labels" $component | nindent 10 }}
  volumes:
    - name: data
      emptyDir: {}
    - name: temporary
      emptyDir: {}
    {{- with $root.Values.modelsClaim }}
    - name: models
      persistentVolumeClaim:
        claimName: {{ . }}
    {{- end }}
{{- end }}

{{/* What all containers of Berth share, like berth.pod. */}}
{{- define "berth.container" -}}
{{- $component := index . 0 -}}
{{- $values := index . 1 -}}
{{- $root := index . 2 -}}
name: berth
image: {{ include "berth.image" $root }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
env:
  - name: ROLE
    value: {{ $component }}
envFrom:
  - configMapRef:
      name: berth-settings
  {{- include "berth.secrets" $root | nindent 2 }}
resources:
  {{- toYaml $values.resources | nindent 2 }}
securityContext:
  {{- include "berth.containerSecurity" . | nindent 2 }}
volumeMounts:
  - name: data
    mountPath: /data
  - name: temporary
    mountPath: /tmp
  {{- if $root.Values.modelsClaim }}
  - name: models
    mountPath: /data/models
  {{- end }}
{{- end }}
