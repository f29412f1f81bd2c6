import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const [kubectl = 'kubectl', ...kubectlOptions] = (process.env['TEST_KUBECTL'] ?? 'kubectl').split(' ')
const chart = resolve(import.meta.dirname, '../../../../deploy/helm/berth')
/** What an installation consists of, and what belongs to it */
const kinds =
  'deployments,replicasets,pods,jobs,services,endpoints,secrets,configmaps,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets,horizontalpodautoscalers,persistentvolumeclaims,ingresses'

/** The path of Helm 4. Tests that need it are skipped without. */
export const helm = process.env['TEST_HELM']

/** Runs kubectl with all permissions. Resolves to its output. */
export async function control(...args: string[]): Promise<string> {
  return (await run(kubectl, [...kubectlOptions, ...args])).stdout
}

/** Installs, upgrades or uninstalls the release `berth` of the chart. */
export async function runHelm(verb: string, namespace: string, ...options: string[]): Promise<void> {
  const source = verb === 'uninstall' ? [] : [chart]
  const place = ['--namespace', namespace, '--timeout', '5m']
  await run(helm ?? '', [verb, 'berth', ...source, ...place, ...options])
}

/** The names of all objects in a namespace that an installation may leave, without the cluster's own. */
export async function listObjects(namespace: string): Promise<string[]> {
  const names = await control('-n', namespace, 'get', kinds, '-o', 'name')
  const own = /^$|default-token-|serviceaccount\/default$|kube-root-ca/
  return names
    .split('\n')
    .filter((name) => !own.test(name))
    .toSorted()
}
