import type { DeploymentPlan } from '../../contract.ts'

/** From a short chat to a large repository, in tokens */
const choices = [8_192, 16_384, 32_768, 65_536, 131_072, 262_144]

/** The contexts to choose from, in tokens: those that hardware could give, and the chosen one. */
export function listContextChoices(
  plan: Pick<DeploymentPlan, 'context_tokens' | 'context_limited_by'> | undefined,
  chosen: number | null = null,
): number[] {
  const limit = plan?.context_tokens ?? Infinity
  // With more memory, another instance type may give more.
  const offered =
    plan?.context_limited_by === 'memory' ? choices : choices.filter((tokens) => tokens <= limit)
  return chosen === null || offered.includes(chosen)
    ? offered
    : [...offered, chosen].toSorted((one, other) => one - other)
}
