import type {
  KubernetesObject,
  V1Deployment,
  V1NetworkPolicy,
  V1ObjectMeta,
  V1OwnerReference,
  V1PodTemplateSpec,
  V1Secret,
  V1Service,
} from '@kubernetes/client-node'
import type { EngineSpec, InstanceType } from '../../../ports/model-runtime.ts'
import { weightPartBytes } from './engine-plan.ts'
import type { EnginePlan } from './engine-plan.ts'
import { toUploadUrl } from '../upload-url.ts'
import { enginePort, labels, modelUrlKey, objectNameOf, podLabels, weightPartName } from './names.ts'
import { buildPolicySpec } from './network-policy.ts'
import { buildPodTemplate } from './pod-template.ts'
import type { KubernetesRuntimeSettings } from './settings.ts'

type Settings = Pick<
  KubernetesRuntimeSettings,
  'namespace' | 'modelCache' | 'huggingFace' | 'proxy' | 'privateNetworks' | 'server'
>

export const workloadKinds = {
  deployment: { apiVersion: 'apps/v1', kind: 'Deployment' },
  leaderWorkerSet: { apiVersion: 'leaderworkerset.x-k8s.io/v1', kind: 'LeaderWorkerSet' },
} as const

/** The Kubernetes client has no types for the LeaderWorkerSet API. */
export interface LeaderWorkerSet extends KubernetesObject {
  spec: {
    replicas: number
    networkConfig: { subdomainPolicy: 'UniquePerReplica' }
    leaderWorkerTemplate: {
      size: number
      restartPolicy: 'RecreateGroupOnPodRestart'
      leaderTemplate: V1PodTemplateSpec
      workerTemplate: V1PodTemplateSpec
    }
  }
}

/** The Kubernetes objects of one engine. The workload owns the others, so deleting it deletes them. */
export interface EngineObjects {
  workload: V1Deployment | LeaderWorkerSet
  /** Takes the owner, because the cluster assigns its uid. `weights` are the bytes of a local file. */
  buildDependents: (owner: V1OwnerReference, weights?: Buffer) => (V1Secret | V1Service | V1NetworkPolicy)[]
}

/** Builds all objects of an engine. Deterministic for a spec. */
export function buildObjects(
  spec: EngineSpec,
  type: InstanceType,
  plan: EnginePlan,
  given: Settings,
): EngineObjects {
  const modelUrl = given.server === null ? null : toUploadUrl(spec, given.server.url)
  const settings = modelUrl === null ? withToken(given, spec) : withoutInternet(given)
  const template = buildPodTemplate(spec, type, plan, settings)
  const metadata: V1ObjectMeta = {
    name: objectNameOf(spec.engineId),
    namespace: settings.namespace,
    labels: template.metadata?.labels ?? {},
  }
  return {
    workload:
      plan.nodes === 1
        ? buildDeployment(spec, metadata, template)
        : buildLeaderWorkerSet(metadata, template, plan),
    buildDependents: (owner, weights) => {
      const owned = Object.assign({ ownerReferences: [owner] }, metadata)
      return [
        ...(weights === undefined ? [] : buildWeightParts(spec, owned, weights)),
        buildSecret(spec, owned, settings, modelUrl),
        buildService(spec, owned, plan),
        {
          apiVersion: 'networking.k8s.io/v1',
          kind: 'NetworkPolicy',
          metadata: owned,
          spec: buildPolicySpec(spec, plan.nodes, settings),
        },
      ]
    },
  }
}

function withToken(
  settings: Settings,
  { hubToken: token = settings.huggingFace.token }: EngineSpec,
): Settings {
  return { ...settings, huggingFace: { ...settings.huggingFace, token } }
}

/** An engine that loads an uploaded file needs only this server. */
function withoutInternet(settings: Settings): Settings {
  return {
    ...settings,
    huggingFace: { ...settings.huggingFace, token: null },
    proxy: { http: null, https: null, exceptions: null },
  }
}

function buildDeployment(
  spec: EngineSpec,
  metadata: V1ObjectMeta,
  template: V1PodTemplateSpec,
): V1Deployment {
  return {
    ...workloadKinds.deployment,
    metadata,
    spec: {
      replicas: 1,
      revisionHistoryLimit: 0,
      // A rolling update would need twice the GPUs.
      strategy: { type: 'Recreate' },
      selector: { matchLabels: podLabels(spec) },
      template,
    },
  }
}

/** vLLM on several nodes: the leader serves, and the workers join it. */
function buildLeaderWorkerSet(
  metadata: V1ObjectMeta,
  template: V1PodTemplateSpec,
  plan: EnginePlan,
): LeaderWorkerSet {
  return {
    ...workloadKinds.leaderWorkerSet,
    metadata,
    spec: {
      replicas: 1,
      // The pods need a headless Service to find each other. By default it takes the name of our own Service.
      networkConfig: { subdomainPolicy: 'UniquePerReplica' },
      leaderWorkerTemplate: {
        size: plan.nodes,
        restartPolicy: 'RecreateGroupOnPodRestart',
        leaderTemplate: template,
        workerTemplate: toWorkerTemplate(template, plan),
      },
    },
  }
}

/** A worker does not serve HTTP, so it has no probes. */
function toWorkerTemplate(template: V1PodTemplateSpec, { workerArgs }: EnginePlan): V1PodTemplateSpec {
  const pod = structuredClone(template)
  for (const container of pod.spec?.containers ?? []) {
    container.args = workerArgs
    delete container.startupProbe
    delete container.readinessProbe
    delete container.livenessProbe
  }
  return pod
}

function buildSecret(
  { apiKey }: EngineSpec,
  metadata: V1ObjectMeta,
  { huggingFace, proxy }: Settings,
  modelUrl: string | null,
): V1Secret {
  const values = {
    'engine-key': apiKey,
    'hf-token': huggingFace.token,
    'http-proxy': proxy.http,
    'https-proxy': proxy.https,
    [modelUrlKey]: modelUrl,
  }
  const data = Object.entries(values).flatMap(([name, value]) =>
    value === null ? [] : [[name, Buffer.from(value).toString('base64')]],
  )
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data: Object.fromEntries(data) }
}

function buildWeightParts({ engineId }: EngineSpec, metadata: V1ObjectMeta, weights: Buffer): V1Secret[] {
  const count = Math.ceil(weights.length / weightPartBytes)
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: Object.assign({}, metadata, { name: weightPartName(engineId, index) }),
    type: 'Opaque',
    data: {
      part: weights.subarray(index * weightPartBytes, (index + 1) * weightPartBytes).toString('base64'),
    },
  }))
}

function buildService(spec: EngineSpec, metadata: V1ObjectMeta, plan: EnginePlan): V1Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: {
      type: 'ClusterIP',
      selector: { ...podLabels(spec), ...(plan.nodes > 1 ? { [labels.workerIndex]: '0' } : {}) },
      ports: [{ name: 'http', port: enginePort, targetPort: enginePort, protocol: 'TCP' }],
    },
  }
}
