import { isDeepStrictEqual } from 'node:util'
import type { Services } from '../../../services.ts'
import { parseStoredVariant } from '../../catalog/stored-model.ts'
import { chooseInstance } from '../../placement/choose-instance.ts'
import type { Selection, SelectionResult } from '../../placement/instance-selection.ts'
import type { RefusedOffer } from '../../placement/offers.ts'
import type { CapacityMinimums } from '../../placement/serving-capacity.ts'
import type { Instance } from './instance-store.ts'
import type { Deployment } from './store.ts'
import type { EngineSettings } from './tables.ts'

type Minimums = Pick<Deployment, 'min_context_tokens' | 'min_parallel_sequences' | 'adapters'>
type Settings = Minimums & Pick<Deployment, 'engine_options' | 'engine_version'>
type Equipment = Pick<Instance, 'context_tokens' | 'parallel_sequences' | 'adapters' | 'engine_settings'>

/** What the owner of a deployment asks for. */
export function minimumsOf({
  min_context_tokens: contextTokens,
  min_parallel_sequences: parallelSequences,
}: Pick<Deployment, 'min_context_tokens' | 'min_parallel_sequences'>): CapacityMinimums {
  return { contextTokens, parallelSequences }
}

/** Chooses the instance type for a deployment. Throws if the runtime throws. */
export function chooseHardware(
  deps: Pick<Services, 'runtimes' | 'clock' | 'config' | 'prices'>,
  deployment: Pick<Deployment, 'id' | 'variant' | 'requested_instance_type' | 'cache_scope'> & Settings,
  refused: readonly RefusedOffer[],
): Promise<SelectionResult> {
  const { adapters, requested_instance_type: instanceType, engine_options: options } = deployment
  const needs = {
    options,
    version: deployment.engine_version,
    separatesCache: deployment.cache_scope === 'member',
  }
  const requirements = { ...minimumsOf(deployment), instanceType, needs }
  return chooseInstance(deps, parseStoredVariant(deployment), requirements, refused, adapters)
}

/** True if an instance has a smaller capacity than the owner asks for, fewer LoRAs, or another engine. */
export function needsResize(deployment: Settings, instance: Equipment): boolean {
  const { contextTokens, parallelSequences } = minimumsOf(deployment)
  return (
    (contextTokens ?? 0) > (instance.context_tokens ?? Infinity) ||
    (parallelSequences ?? 0) > (instance.parallel_sequences ?? Infinity) ||
    deployment.adapters.some(({ modelId }) => !hasLora(instance, modelId)) ||
    hasOtherEngine(deployment, instance)
  )
}

/** False until the instance type of an instance is chosen. */
function hasOtherEngine(
  { engine_options: options, engine_version: version }: Settings,
  { engine_settings: has }: Equipment,
): boolean {
  if (has === null) return false
  return (
    !isDeepStrictEqual(has.engine_options, options) || (version !== null && has.engine_version !== version)
  )
}

/** True if a restart needs another engine: it has less than the owner asks for, or removed LoRAs. */
export function needsOtherEngine(deployment: Settings, instance: Equipment): boolean {
  return needsResize(deployment, instance) || instance.adapters.length > deployment.adapters.length
}

/** The settings of a deployment with which its engine starts. */
export function settingsOf({
  min_context_tokens,
  min_parallel_sequences,
  adapters,
  engine_options,
  engine_version,
}: Settings): EngineSettings {
  return { min_context_tokens, min_parallel_sequences, adapters, engine_options, engine_version }
}

/**
 * The settings with which a deployment served last, if it has others now, or if an instance was chosen for
 * others; null if not.
 */
export function findServedSettings(
  deployment: Settings & Pick<Deployment, 'served_settings'>,
  { engine_settings: ofInstance }: Pick<Instance, 'engine_settings'>,
): EngineSettings | null {
  const { served_settings: served } = deployment
  const isServed = (settings: EngineSettings) => isDeepStrictEqual(settings, served)
  const asked = settingsOf(deployment)
  const version = asked.engine_version ?? served?.engine_version ?? null
  const areSame =
    isServed({ ...asked, engine_version: version }) && (ofInstance === null || isServed(ofInstance))
  return areSame ? null : served
}

/** True if these settings differ in nothing but the version of the engine. */
export function differOnlyInVersion(one: EngineSettings, other: EngineSettings): boolean {
  return isDeepStrictEqual({ ...one, engine_version: null }, { ...other, engine_version: null })
}

/** True if the engine of an instance has a LoRA. */
export function hasLora({ adapters }: Pick<Instance, 'adapters'>, modelId: string): boolean {
  return adapters.some((lora) => lora.modelId === modelId)
}

/** Why Berth chose the variant, if it did, and the instance type. */
export function explainSelection(
  variantReason: string | null,
  { reason }: Pick<Selection, 'reason'>,
): string {
  return `${variantReason ?? ''} ${reason}`.trimStart()
}
