import type { KubernetesObject } from '@kubernetes/client-node'
import { vi } from 'vitest'
import type { TestCluster } from '../cluster/cluster.ts'
import { waitOptions } from '../cluster/support.ts'

const group = { apiVersion: 'admissionregistration.k8s.io/v1' }
const resources = '/spec/containers/0/resources'

/**
 * Limits the memory of all new pods of a test, as a policy of the cluster's operator does. Resolves to a
 * function that ends the policy, or to null before Kubernetes 1.36, which does not have such policies. A
 * LimitRange can't: it rejects pods that request more.
 */
export async function limitMemory(
  { namespace, admin: { core, objects } }: TestCluster,
  memory: string,
): Promise<(() => Promise<void>) | null> {
  const set = (path: string) => `JSONPatch{op: "add", path: "${resources}/${path}", value: "${memory}"}`
  const metadata = { name: namespace }
  const policy = {
    ...group,
    kind: 'MutatingAdmissionPolicy',
    metadata,
    spec: {
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      matchConstraints: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
        ],
      },
      mutations: [
        {
          patchType: 'JSONPatch',
          jsonPatch: { expression: `[${set('requests/memory')}, ${set('limits/memory')}]` },
        },
      ],
    },
  }
  const binding = {
    ...group,
    kind: 'MutatingAdmissionPolicyBinding',
    metadata,
    spec: { policyName: namespace },
  }
  const steps: KubernetesObject[] = [policy, binding]
  try {
    for (const object of steps) await objects.create(object)
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('Unrecognized API version and kind')) return null
    throw error
  }
  const requested = { limits: { cpu: '1' }, requests: { memory: '1' } }
  const body = {
    metadata: { name: 'probe' },
    spec: { containers: [{ name: 'probe', image: 'probe', resources: requested }] },
  }
  await vi.waitFor(async () => {
    const pod = await core.createNamespacedPod({ namespace, body, dryRun: 'All' })
    if (pod.spec?.containers[0]?.resources?.limits?.['memory'] !== memory) throw new Error('not in force yet')
  }, waitOptions)
  return async () => {
    for (const object of steps) await objects.delete(object)
  }
}
