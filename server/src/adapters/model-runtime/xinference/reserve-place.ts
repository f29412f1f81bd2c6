import type { EngineSpec, ProvisionResult } from '../../../ports/model-runtime.ts'
import { readNodes } from './cluster.ts'
import type { XinferenceContext } from './context.ts'
import { reserve } from './ensure-model.ts'
import { SupervisorError } from './errors.ts'
import { nameAddress } from './names.ts'
import { findPlacement, listNodeOffers } from './offers.ts'
import type { NodeOffer } from './offers.ts'

/** Reads all supervisors' offers. Throws SupervisorError if none responds or none has a worker. */
export async function readOffers({
  supervisors,
  settings,
}: XinferenceContext): Promise<{ offers: NodeOffer[]; unreachable: number }> {
  const results = await Promise.allSettled(supervisors.map(readNodes))
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  const nodes = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  if (errors.length === supervisors.length) throw errors[0]
  for (const err of errors) settings.logger.warn({ err }, 'a Xinference supervisor is unreachable')
  // Workers rejoin some time after their supervisor restarts. Until then the capacity is unknown.
  if (nodes.length === 0) throw new SupervisorError('no reachable Xinference cluster has a worker')
  const offers = nodes.flatMap((node) => listNodeOffers(node, settings))
  return { offers, unreachable: errors.length }
}

/** Reserves a place for a model on the host with the least capacity that suffices. */
export async function reservePlace(context: XinferenceContext, spec: EngineSpec): Promise<ProvisionResult> {
  const { supervisors, reservations } = context
  const { engineId, instanceType } = spec
  const { offers, unreachable } = await readOffers(context)
  const placement = findPlacement(offers, spec, [...reservations.values()])
  if (placement === null) {
    const clusters = `${supervisors.length - unreachable} of ${supervisors.length} Xinference clusters reachable`
    const message = `No host has free capacity for ${instanceType} (${clusters}).`
    return { outcome: 'refused', code: 'no_capacity', message }
  }
  reserve(context, spec, placement)
  const { node, gpuModel, gpuCount, region } = placement
  const name = nameAddress('host', node.host)
  return {
    outcome: 'provisioned',
    instance: {
      // The last part of a UUIDv7 is random; the first is a timestamp.
      instanceId: `xinference-${engineId.slice(-12)}`,
      clusterId: node.supervisor.clusterId,
      gpuAllocationId: gpuCount === 0 ? name : `${name}: ${gpuCount} x ${gpuModel ?? 'GPU'}`,
      region,
      startedAt: new Date(),
    },
  }
}
