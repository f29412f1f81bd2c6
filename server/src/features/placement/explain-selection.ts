import { formatMemory } from '../../base/format-bytes.ts'
import type { Evaluation } from './evaluate-offer.ts'
import { nameOffer } from './offers.ts'
import type { PricedOffer, SelectionRules } from './offers.ts'
import type { CeilingSettings, Sizing } from './serving-capacity.ts'

const factors = {
  model: 'the context of the model',
  memory: 'as its memory allows',
  engine: 'the most that its engine handles well',
}

/** One sentence with both numbers and what limits them; a common limit stands once. */
export function describeSizing(
  { capacity, limitedBy }: Sizing,
  settings: CeilingSettings | undefined,
): string {
  const { contextTokens, parallelSequences } = capacity
  const name = (limit: keyof typeof factors | 'ceiling', setting: string | undefined) =>
    limit !== 'ceiling'
      ? factors[limit]
      : setting === undefined
        ? 'the default of this server'
        : `the setting ${setting}`
  const first = name(limitedBy.context, settings?.context)
  const second = name(limitedBy.sequences, settings?.sequences)
  const context = `It serves requests of up to ${contextTokens} tokens`
  const sequences = `${parallelSequences} at a time (${second}).`
  return first === second ? `${context}, ${sequences}` : `${context} (${first}), ${sequences}`
}

/** A sentence about runtimes that don't respond; empty if all do. */
export function describeAway({ away = [] }: SelectionRules): string {
  if (away.length === 0) return ''
  return ` The instance types of ${away.join(' and ')} are unknown at the moment, because it does not respond.`
}

const noneFits = 'No instance type can run this model.'

/** Why no instance type can run a model. */
export function explainInfeasible(
  rejected: readonly Evaluation[],
  smallest: Evaluation | null,
  offers: readonly PricedOffer[],
  wanted: string | undefined,
): string {
  if (offers.length === 0) return `${noneFits} The compute backend offers no instance types.`
  if (smallest === null) {
    const names = new Set(offers.map(({ instanceType }) => instanceType))
    return `This server has no instance type ${wanted}, but ${[...names].join(', ')}.`
  }
  const need = smallest.estimate === null ? '' : `It needs at least ${describeNeed(smallest)}. `
  const verdict = wanted === undefined ? noneFits : `${wanted} can’t run this model.`
  return `${verdict} ${need}Ruled out: ${listRejections(rejected)}.`
}

/** Groups ruled-out types by reason: `t4-x1 (13.5 GiB), l4-x1 (20.3 GiB): 34.9 GiB needed`. */
export function listRejections(rejected: readonly Evaluation[]): string {
  const groups = Map.groupBy(rejected, ({ rejection }) => rejection ?? '')
  return [...groups]
    .map(([rejection, members]) => `${members.map(nameWithMemory).join(', ')}: ${rejection}`)
    .join('; ')
}

function nameWithMemory({ offer, isTooSmall }: Evaluation): string {
  return isTooSmall ? `${nameOffer(offer)} (${formatMemory(offer.memoryBytes)})` : nameOffer(offer)
}

/** The least memory of a model, and its parts. */
export function describeNeed({ estimate, least }: Evaluation): string {
  if (estimate === null || least === null) return 'an unknown amount of memory'
  const { contextTokens, parallelSequences } = least
  return (
    `${formatMemory(estimate.totalBytes)} (weights ${formatMemory(estimate.weightBytes)} + KV cache ` +
    `${formatMemory(estimate.cacheBytes)} for ${parallelSequences} × ${contextTokens} tokens + overhead ` +
    `${formatMemory(estimate.overheadBytes)})`
  )
}
