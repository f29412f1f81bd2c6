import type { V1Container, V1EnvVar, V1PodTemplateSpec, V1Volume } from '@kubernetes/client-node'
import type { EngineSpec, InstanceType } from '../../../ports/model-runtime.ts'
import type { EnginePlan } from './engine-plan.ts'
import { engineContainer, enginePort, labels, objectNameOf } from './names.ts'
import type { KubernetesRuntimeSettings, ModelCache } from './settings.ts'

type Settings = Pick<KubernetesRuntimeSettings, 'modelCache' | 'huggingFace' | 'proxy'>

/** Who an engine runs as: nobody that an image or a node knows. */
const engineUser = 2000
const cacheFolder = '/cache'
/** Seconds after which a pod leaves a node that no longer answers */
const lostNodeSeconds = 60
const probeSeconds = 10
const gpuResource = 'nvidia.com/gpu'
/** What an engine needs of its node beside a GPU: to tokenize, and to load weights through. */
const perGpu = { cpus: 2, memoryBytes: 8 * 2 ** 30, sharedMemoryBytes: 4 * 2 ** 30 }

/** The pod that runs an engine: unprivileged, without a token of the cluster, writing to its own volumes alone. */
export function buildPodTemplate(
  spec: EngineSpec,
  type: InstanceType,
  plan: EnginePlan,
  settings: Settings,
): V1PodTemplateSpec {
  const needsSharedMemory = plan.engine === 'vllm' && plan.gpusPerPod > 1
  return {
    metadata: {
      labels: {
        [labels.managedBy]: 'berth',
        [labels.name]: 'berth-engine',
        [labels.component]: plan.engine,
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
        { key: gpuResource, operator: 'Exists', effect: 'NoSchedule' },
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
      containers: [buildContainer(spec, plan, settings, needsSharedMemory)],
      volumes: [
        { name: 'temporary', emptyDir: {} },
        toCacheVolume(settings.modelCache),
        ...(needsSharedMemory ? [toSharedMemory(plan.gpusPerPod)] : []),
      ],
    },
  }
}

function buildContainer(
  spec: EngineSpec,
  plan: EnginePlan,
  settings: Settings,
  needsSharedMemory: boolean,
): V1Container {
  const health = { httpGet: { path: '/health', port: enginePort } }
  return {
    name: engineContainer,
    image: plan.image,
    args: plan.args,
    env: buildEnvironment(spec, plan, settings),
    ports: [{ name: 'http', containerPort: enginePort, protocol: 'TCP' }],
    resources: {
      requests: {
        cpu: String(perGpu.cpus * plan.gpusPerPod),
        memory: String(perGpu.memoryBytes * plan.gpusPerPod),
        ...requestDisk(spec, settings.modelCache),
      },
      limits: { [gpuResource]: String(plan.gpusPerPod) },
    },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
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
      ...(needsSharedMemory ? [{ name: 'shared-memory', mountPath: '/dev/shm' }] : []),
    ],
  }
}

function buildEnvironment(spec: EngineSpec, plan: EnginePlan, settings: Settings): V1EnvVar[] {
  const { huggingFace, proxy } = settings
  const fromSecret = (name: string, key: string): V1EnvVar => ({
    name,
    valueFrom: { secretKeyRef: { name: objectNameOf(spec.deploymentId), key } },
  })
  // The user has no entry in the image, so that libraries which ask for its name or home must be told.
  const user = [
    { name: 'HOME', value: '/tmp' },
    { name: 'USER', value: 'berth' },
  ]
  const own: V1EnvVar[] =
    plan.engine === 'vllm'
      ? [
          fromSecret('VLLM_API_KEY', 'engine-key'),
          { name: 'HF_HOME', value: `${cacheFolder}/huggingface` },
          { name: 'VLLM_NO_USAGE_STATS', value: '1' },
          { name: 'DO_NOT_TRACK', value: '1' },
        ]
      : [
          fromSecret('LLAMA_API_KEY', 'engine-key'),
          { name: 'LLAMA_CACHE', value: `${cacheFolder}/llama.cpp` },
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

/** Weights on the node's own disk must find room there, or the node evicts whoever fills it. */
function requestDisk({ variant }: EngineSpec, cache: ModelCache): Record<string, string> {
  if (cache.kind === 'claim' || variant.weightBytes === null) return {}
  return { 'ephemeral-storage': String(Math.ceil(variant.weightBytes * 1.1)) }
}

function toCacheVolume(cache: ModelCache): V1Volume {
  return cache.kind === 'claim'
    ? { name: 'cache', persistentVolumeClaim: { claimName: cache.name } }
    : { name: 'cache', emptyDir: cache.sizeLimit === null ? {} : { sizeLimit: cache.sizeLimit } }
}

/** The processes of one engine, one for each GPU, pass tensors through it. */
function toSharedMemory(gpus: number): V1Volume {
  const sizeLimit = String(perGpu.sharedMemoryBytes * gpus)
  return { name: 'shared-memory', emptyDir: { medium: 'Memory', sizeLimit } }
}
