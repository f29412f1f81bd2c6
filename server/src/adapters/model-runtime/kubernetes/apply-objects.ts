import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { KubernetesObject } from '@kubernetes/client-node'
import type { EngineSpec, InstanceType, PlannedEngine } from '../../../ports/model-runtime.ts'
import { toExampleSpec, toShownCommand } from '../engines/engine-options.ts'
import { deploymentKind, setKind, workloadOf } from './context.ts'
import type { KubernetesContext } from './context.ts'
import { planEngine } from './engine-plan.ts'
import { buildObjects } from './objects.ts'
import type { EngineObjects } from './objects.ts'
import type { KubernetesRuntimeSettings } from './settings.ts'

/** Plans the objects for a spec, or returns the reason why this cluster can't run it. */
export async function planObjects(
  { cluster, settings, types }: KubernetesContext,
  spec: EngineSpec,
): Promise<{ type: InstanceType; objects: EngineObjects } | string> {
  const type = types.get(spec.instanceType)
  if (type === undefined) return `This cluster does not have the instance type ${spec.instanceType}.`
  const file = locateWeights(settings, spec)
  const planned = planEngine(spec, type, settings, file === null ? null : await measureFile(file))
  if ('refusal' in planned) return planned.refusal
  if (planned.plan.nodes > 1 && !(await cluster.supportsKind(setKind.apiVersion, setKind.kind))) {
    return (
      `${spec.gpuCount} GPUs are more than one node has, and this cluster can't run an engine on several nodes. ` +
      'To allow this, install LeaderWorkerSet.'
    )
  }
  return { type, objects: buildObjects(spec, type, planned.plan, settings) }
}

/** The command line of an engine, for people; null for an instance type or weights that don't fit. */
export async function describeCommand(
  { settings, types }: KubernetesContext,
  engine: PlannedEngine,
): Promise<readonly string[] | null> {
  const type = types.get(engine.instanceType)
  if (type === undefined) return null
  const planned = planEngine(toExampleSpec(engine), type, settings, 0)
  if ('refusal' in planned) return null
  const program = planned.plan.engine === 'vllm' ? ['vllm', 'serve'] : ['llama-server']
  return toShownCommand(program, planned.plan.args)
}

/** Applies all objects. The owner comes first, so a crash leaves no object without an owner. */
export async function applyObjects(
  { cluster, settings, applied }: KubernetesContext,
  spec: EngineSpec,
  objects: EngineObjects,
): Promise<void> {
  const { workload, buildDependents } = objects
  const fingerprint = createHash('sha256').update(JSON.stringify(workload)).digest('base64')
  if (applied.get(spec.engineId) === fingerprint) return
  const other = workload.kind === setKind.kind ? deploymentKind : setKind
  if (!(await cluster.remove(workloadOf(spec.engineId, other)))) {
    throw new Error('The workload of the previous instance type is still being deleted.')
  }
  const { metadata } = await cluster.apply<KubernetesObject>(workload)
  const { apiVersion = '', kind = '' } = workload
  const owner = { apiVersion, kind, name: metadata?.name ?? '', uid: metadata?.uid ?? '', controller: true }
  const file = locateWeights(settings, spec)
  const dependents = buildDependents(owner, file === null ? undefined : await readFile(file))
  for (const dependent of dependents) await cluster.apply<KubernetesObject>(dependent)
  applied.set(spec.engineId, fingerprint)
  settings.logger.info({ engineId: spec.engineId, kind }, 'applied the objects of an engine')
}

/** The path of a local weights file; null for other weights. */
function locateWeights(
  { catalogDirectory }: KubernetesRuntimeSettings,
  { variant: { weights } }: EngineSpec,
): string | null {
  return weights.kind === 'file' ? resolve(catalogDirectory, weights.path) : null
}

/** The size of a file in bytes; null if it does not exist. */
async function measureFile(path: string): Promise<number | null> {
  const found = await stat(path).catch(() => null)
  return found?.isFile() ? found.size : null
}
