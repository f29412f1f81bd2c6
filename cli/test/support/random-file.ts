/** A seeded source of random numbers below a limit (mulberry32). */
export type Random = (limit: number) => number

export function createRandom(seed: number): Random {
  let state = seed
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
}

const aliases = ['one', 'two', 'three', 'four:x/y']
const teamNames = ['A', 'B', 'Über: alles']

/** A random element. */
export function pick<Value>(random: Random, values: readonly Value[]): Value {
  return values[random(values.length)]!
}

/** Each of the values with a chance of one half. */
function some<Value>(random: Random, values: readonly Value[]): Value[] {
  return values.filter(() => random(2) === 0)
}

/** Only deployments with this alias may have one that isn't their name. */
export const sharedAlias = 'together'
/** The name of a model that somebody uploaded */
export const uploadedModel = 'handmade'

/** The content of a file that members with these emails can be in. */
export function makeRandomFile(random: Random, emails: readonly string[]) {
  const teams = some(random, teamNames)
  const deployments = some(random, aliases)
  const maybe = <Fields extends object>(fields: Fields): Partial<Fields> => (random(2) === 0 ? fields : {})
  const budget = () => ({
    // More than deployments cost while the test runs, because an exhausted budget refuses new ones.
    monthly_limit: pick(random, [500, '750.5', '1000.00']),
    at_limit: pick(random, ['notify', 'block']),
  })
  const byName = <Value>(names: readonly string[], make: (name: string) => Value) =>
    Object.fromEntries(names.map((name) => [name, make(name)]))
  const sharing = () => {
    const members = some(random, emails)
    const chosen = some(random, teams)
    const isSome = members.length + chosen.length > 0
    return pick(random, [null, 'organization', ...(isSome ? [{ teams: chosen, members }] : [])])
  }
  const naming = () =>
    pick(random, [
      {},
      maybe({ alias_order: 1 + random(3) }),
      { alias: null },
      { alias: sharedAlias, ...maybe({ alias_order: 1 + random(3) }) },
    ]) as { alias?: string | null; alias_order?: number }
  return {
    name: 'random',
    models: maybe({ [uploadedModel]: {} }),
    teams: byName(teams, () => ({ members: some(random, emails) })),
    deployments: byName(deployments, () => {
      const least = 1 + random(2)
      return {
        ...naming(),
        model: pick(random, ['berth-tiny', 'berth-tiny-embedding', uploadedModel]),
        ...maybe({ min_context_tokens: 256 + random(2) }),
        ...maybe({ shared_with: sharing() }),
        policy: {
          min_instances: least,
          ...maybe({ max_instances: least + random(2) }),
          idle_minutes: pick(random, [null, 5, 60]),
          ...maybe({ yields: true }),
          ...maybe({ target_concurrency: 3 }),
          ...maybe({ schedules: [{ cron: '0 8 * * MON-FRI', time_zone: 'UTC', min_instances: 1 }] }),
        },
      }
    }),
    budgets: {
      ...maybe({ organization: budget() }),
      teams: byName(some(random, teams), budget),
      members: byName(some(random, emails), budget),
      deployments: byName(some(random, deployments), budget),
    },
  }
}

export type RandomFile = ReturnType<typeof makeRandomFile>
