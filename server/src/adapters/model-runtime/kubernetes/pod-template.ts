import type { V1Container, V1EnvVar, V1PodTemplateSpec, V1Volume } from '@kubernetes/client-node'
import type { EngineSpec, InstanceType } from '../../../ports/model-runtime.ts'
import { getSharedMemoryBytes } from './engine-plan.ts'
import type { EnginePlan } from './engine-plan.ts'
import {
  cacheFolder,
  engineContainer,
  enginePort,
  labels,
  localFilePath,
  modelUrlKey,
  objectNameOf,
  resourceOf,
  wholeResourceOf,
  weightPartName,
} from './names.ts'
import type { KubernetesRuntimeSettings, ModelCache } from './settings.ts'

type Settings = Pick<KubernetesRuntimeSettings, 'modelCache' | 'huggingFace' | 'proxy' | 'server'>

/** Unprivileged uid and gid of engines; no image or node defines this user */
const engineUser = 2000
/** Seconds until a pod is evicted from a node that stopped responding */
const lostNodeSeconds = 60
const probeSeconds = 10
const partsFolder = '/weight-parts'
/** For tokenizing and loading weights */
const cpusPerGpu = 2

/** Builds the pod of an engine: unprivileged, without a cluster token, with a read-only root file system. */
export function buildPodTemplate(
  spec: EngineSpec,
  type: InstanceType,
  plan: EnginePlan,
  settings: Settings,
): V1PodTemplateSpec {
  const sharedMemoryBytes = getSharedMemoryBytes(plan)
  return {
    metadata: {
      labels: {
        [labels.managedBy]: 'berth',
        [labels.name]: 'berth-engine',
        [labels.component]: plan.engine,
        [labels.engineId]: spec.engineId,
        [labels.deploymentId]: spec.deploymentId,
        [labels.instanceType]: type.name,
      },
    },
    spec: {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 30,
      nodeSelector: type.nodeSelector,
      tolerations: [
        ...type.tolerations,
        ...[...new Set([wholeResourceOf(type), resourceOf(type)])].map((key) => ({
          key,
          operator: 'Exists',
          effect: 'NoSchedule',
        })),
        ...['not-ready', 'unreachable'].map((condition) => ({
          key: `node.kubernetes.io/${condition}`,
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: lostNodeSeconds,
        })),
      ],
      securityContext: {
        runAsNonRoot: true,
        runAsUser: engineUser,
        runAsGroup: engineUser,
        fsGroup: engineUser,
        fsGroupChangePolicy: 'OnRootMismatch',
        seccompProfile: { type: 'RuntimeDefault' },
      },
      ...(plan.weightParts > 0 ? { initContainers: [buildWeightJoiner(plan)] } : {}),
      containers: [buildContainer(spec, type, plan, settings, sharedMemoryBytes)],
      volumes: [
        ...(plan.weightParts > 0 ? [toWeightParts(spec, plan.weightParts)] : []),
        { name: 'temporary', emptyDir: {} },
        toCacheVolume(settings.modelCache),
        ...(sharedMemoryBytes > 0 ? [toSharedMemory(sharedMemoryBytes)] : []),
      ],
    },
  }
}

const unprivileged = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
}

/** Joins the parts of a local weights file. The parts have one-digit names, so the shell sorts them. */
function buildWeightJoiner({ image }: EnginePlan): V1Container {
  return {
    name: 'weights',
    image,
    command: ['sh', '-c', `cat ${partsFolder}/* > ${localFilePath}`],
    securityContext: unprivileged,
    volumeMounts: [
      { name: 'temporary', mountPath: '/tmp' },
      { name: 'weight-parts', mountPath: partsFolder, readOnly: true },
    ],
  }
}

function toWeightParts({ engineId }: EngineSpec, count: number): V1Volume {
  const sources = Array.from({ length: count }, (_, index) => ({
    secret: {
      name: weightPartName(engineId, index),
      items: [{ key: 'part', path: String(index) }],
    },
  }))
  return { name: 'weight-parts', projected: { sources } }
}

function buildContainer(
  spec: EngineSpec,
  type: InstanceType,
  plan: EnginePlan,
  settings: Settings,
  sharedMemoryBytes: number,
): V1Container {
  const health = { httpGet: { path: '/health', port: enginePort } }
  return {
    name: engineContainer,
    image: plan.image,
    ...(plan.engine === 'vllm' ? { command: ['vllm', 'serve'] } : {}),
    args: plan.args,
    env: buildEnvironment(spec, plan, settings),
    ports: [{ name: 'http', containerPort: enginePort, protocol: 'TCP' }],
    resources: {
      requests: {
        cpu: String(cpusPerGpu * plan.gpusPerPod),
        memory: String(plan.hostMemoryBytes),
        ...requestDisk(spec, settings.modelCache),
      },
      limits: { [resourceOf(type)]: String(plan.gpusPerPod) },
    },
    securityContext: unprivileged,
    startupProbe: {
      ...health,
      periodSeconds: probeSeconds,
      timeoutSeconds: 5,
      failureThreshold: Math.ceil(plan.startupSeconds / probeSeconds),
    },
    readinessProbe: { ...health, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 3 },
    livenessProbe: { ...health, periodSeconds: probeSeconds, timeoutSeconds: 10, failureThreshold: 6 },
    volumeMounts: [
      { name: 'temporary', mountPath: '/tmp' },
      { name: 'cache', mountPath: cacheFolder },
      ...(sharedMemoryBytes > 0 ? [{ name: 'shared-memory', mountPath: '/dev/shm' }] : []),
    ],
  }
}

function buildEnvironment(spec: EngineSpec, plan: EnginePlan, settings: Settings): V1EnvVar[] {
  const { huggingFace, proxy } = settings
  const isUpload = spec.variant.weights.kind === 'upload'
  const fromSecret = (name: string, key: string): V1EnvVar => ({
    name,
    valueFrom: { secretKeyRef: { name: objectNameOf(spec.engineId), key } },
  })
  // The image has no passwd entry for the user, so libraries need its name and home from here.
  const user = [
    { name: 'HOME', value: '/tmp' },
    { name: 'USER', value: 'berth' },
  ]
  const own: V1EnvVar[] =
    plan.engine === 'vllm'
      ? [
          fromSecret('VLLM_API_KEY', 'engine-key'),
          { name: 'HF_HOME', value: `${cacheFolder}/huggingface` },
          // Compiled kernels. vLLM keeps them apart by version, model and GPU.
          { name: 'VLLM_CACHE_ROOT', value: `${cacheFolder}/vllm` },
          { name: 'TRITON_CACHE_DIR', value: `${cacheFolder}/vllm/triton` },
          { name: 'VLLM_NO_USAGE_STATS', value: '1' },
          { name: 'VLLM_MEDIA_URL_ALLOW_REDIRECTS', value: '0' },
          { name: 'DO_NOT_TRACK', value: '1' },
        ]
      : [
          fromSecret('LLAMA_API_KEY', 'engine-key'),
          { name: 'LLAMA_CACHE', value: `${cacheFolder}/llama.cpp` },
          ...(isUpload ? [fromSecret('LLAMA_ARG_MODEL_URL', modelUrlKey)] : []),
          // The option's name depends on the version. A version ignores unknown variables.
          { name: 'LLAMA_ARG_UI', value: '0' },
        ]
  return [
    ...user,
    ...own,
    { name: 'HF_ENDPOINT', value: huggingFace.endpoint },
    ...(huggingFace.token === null ? [] : [fromSecret('HF_TOKEN', 'hf-token')]),
    ...(proxy.http === null ? [] : [fromSecret('HTTP_PROXY', 'http-proxy')]),
    ...(proxy.https === null ? [] : [fromSecret('HTTPS_PROXY', 'https-proxy')]),
    ...(proxy.exceptions === null ? [] : [{ name: 'NO_PROXY', value: proxy.exceptions }]),
  ]
}

/** Requests disk on the node for weights. Otherwise the node may evict the pod when the disk fills. */
function requestDisk({ variant }: EngineSpec, cache: ModelCache): Record<string, string> {
  if (cache.kind === 'claim' || variant.weightBytes === null) return {}
  return { 'ephemeral-storage': String(Math.ceil(variant.weightBytes * 1.1)) }
}

function toCacheVolume(cache: ModelCache): V1Volume {
  return cache.kind === 'claim'
    ? { name: 'cache', persistentVolumeClaim: { claimName: cache.name } }
    : { name: 'cache', emptyDir: cache.sizeLimit === null ? {} : { sizeLimit: cache.sizeLimit } }
}

function toSharedMemory(bytes: number): V1Volume {
  return { name: 'shared-memory', emptyDir: { medium: 'Memory', sizeLimit: String(bytes) } }
}
