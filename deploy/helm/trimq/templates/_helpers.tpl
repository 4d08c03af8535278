{{/* What names of objects begin with. A pod's name and a revision's have to fit into 63 characters. */}}
{{- define "trimq.name" -}}
{{- $name := .Release.Name -}}
{{- if not (contains "trimq" $name) -}}{{- $name = printf "%s-trimq" $name -}}{{- end -}}
{{- $name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* By which a Service, a budget or a StatefulSet finds its pods: (list $ "broker"). */}}
{{- define "trimq.selector" -}}
{{- $top := first . -}}
app.kubernetes.io/name: trimq
app.kubernetes.io/instance: {{ $top.Release.Name }}
app.kubernetes.io/component: {{ last . }}
{{- end }}

{{- define "trimq.labels" -}}
{{- $top := first . -}}
{{ include "trimq.selector" . }}
app.kubernetes.io/version: {{ $top.Values.image.tag | default $top.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $top.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $top.Chart.Name $top.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* HOST:PORT;HOST:PORT: each pod by its own name. */}}
{{- define "trimq.nameServers" -}}
{{- $name := include "trimq.name" . -}}
{{- $domain := printf "%s-namesrv.%s.svc.%s" $name .Release.Namespace .Values.clusterDomain -}}
{{- range $number := until (int .Values.namesrv.replicas) -}}
{{- if $number }};{{ end }}{{ $name }}-namesrv-{{ $number }}.{{ $domain }}:9876
{{- end -}}
{{- end }}

{{/* What is the same in all pods. */}}
{{- define "trimq.pod" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "trimq.container" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext: {{- toYaml .Values.securityContext | nindent 2 }}
{{- end }}

{{/* Not two on one node, if there are more nodes: (list $ "broker"). */}}
{{- define "trimq.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "trimq.selector" . | nindent 8 }}
{{- end }}

{{- define "trimq.log" -}}
- --log-level
- {{ .Values.log.level | quote }}
- --log-format
- {{ .Values.log.format | quote }}
{{- end }}

{{/* --set KEY=VALUE for each: (list OURS THEIRS); theirs win. Kubernetes replaces $(NAME) in ours only. */}}
{{- define "trimq.settings" -}}
{{- $all := deepCopy (first .) -}}
{{- range $key, $value := last . -}}
{{- $text := kindIs "string" $value | ternary $value (toJson $value) -}}
{{- $_ := set $all $key (replace "$(" "$$(" $text) -}}
{{- end -}}
{{- range $key, $value := $all }}
- --set
- {{ printf "%s=%s" $key $value | quote }}
{{- end }}
{{- end }}

{{/* Settings, as a JSON object, of servers: NameServers and brokers take the same. */}}
{{- define "trimq.tls" -}}
{{- $tls := .Values.tls -}}
{{- $all := dict -}}
{{- if and (not $tls.secretName) (or $tls.verify (ne $tls.clientAuth "none")) -}}
{{- fail "tls.verify and tls.clientAuth check certificates by the ca.crt of a Secret: name it with tls.secretName" -}}
{{- end -}}
{{- if ne $tls.mode "permissive" -}}{{- $_ := set $all "tls.server.mode" $tls.mode -}}{{- end -}}
{{- if $tls.secretName -}}
{{- $_ := set $all "tls.server.certPath" "/etc/trimq/tls/tls.crt" -}}
{{- $_ := set $all "tls.server.keyPath" "/etc/trimq/tls/tls.key" -}}
{{- end -}}
{{- if ne $tls.clientAuth "none" -}}
{{- $_ := set $all "tls.server.need.client.auth" $tls.clientAuth -}}
{{- $_ := set $all "tls.server.trustCertPath" "/etc/trimq/tls/ca.crt" -}}
{{- end -}}
{{- toJson $all -}}
{{- end }}

{{/* Likewise, of brokers: how they talk to NameServers. */}}
{{- define "trimq.tlsToServers" -}}
{{- $tls := .Values.tls -}}
{{- $all := dict -}}
{{- if and $tls.secretName (ne $tls.mode "disabled") -}}
{{- $_ := set $all "tls.enable" "true" -}}
{{- if $tls.verify -}}{{- $_ := set $all "tls.client.trustCertPath" "/etc/trimq/tls/ca.crt" -}}{{- end -}}
{{- if ne $tls.clientAuth "none" -}}
{{- $_ := set $all "tls.client.certPath" "/etc/trimq/tls/tls.crt" -}}
{{- $_ := set $all "tls.client.keyPath" "/etc/trimq/tls/tls.key" -}}
{{- end -}}
{{- end -}}
{{- toJson $all -}}
{{- end }}

{{/* The same for mqadmin in a broker's container. */}}
{{- define "trimq.tlsOfTools" -}}
{{- $tls := .Values.tls -}}
{{- if and (ne $tls.mode "disabled") (or $tls.secretName (eq $tls.mode "enforcing")) }}
- {name: MQADMIN_TLS, value: "true"}
{{- if $tls.verify }}
- {name: MQADMIN_TLS_CA, value: /etc/trimq/tls/ca.crt}
- {name: MQADMIN_TLS_ANY_NAME, value: "true"}
{{- end }}
{{- if ne $tls.clientAuth "none" }}
- {name: MQADMIN_TLS_CERT, value: /etc/trimq/tls/tls.crt}
- {name: MQADMIN_TLS_KEY, value: /etc/trimq/tls/tls.key}
{{- end }}
{{- end }}
{{- end }}

{{- define "trimq.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if .Values.tls.secretName }}
- {name: tls, mountPath: /etc/trimq/tls, readOnly: true}
{{- end }}
{{- end }}

{{/* A key lies in /tmp for the moment in which a self-signed certificate is made: never on a disk. */}}
{{- define "trimq.volumes" -}}
- name: tmp
  emptyDir: {medium: Memory, sizeLimit: 8Mi}
{{- with .Values.tls.secretName }}
- name: tls
  secret:
    secretName: {{ . | quote }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{/* One claim for each pod: (list $ "store" .Values.broker.storage). */}}
{{- define "trimq.claim" -}}
{{- $storage := last . -}}
volumeClaimTemplates:
  - metadata:
      name: {{ index . 1 }}
    spec:
      accessModes: [ReadWriteOnce]
      {{- with $storage.className }}
      storageClassName: {{ . | quote }}
      {{- end }}
      resources:
        requests:
          storage: {{ $storage.size | quote }}
{{- end }}
