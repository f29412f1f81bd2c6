import type { Command } from '../components/command.ts'

interface CommandGroup {
  group: Command['group'] | 'recent'
  commands: Command[]
}

const groups: readonly Command['group'][] = ['pages', 'actions', 'deployments', 'members', 'models']
const shownPerGroup = 8

/**
 * The commands with words that start as the query's words, best first, by group: start of a label, inside it,
 * then keywords. An empty query finds those with the ids in `recent` first, then all others but the commands
 * that are only for the search.
 */
export function searchCommands(
  commands: readonly Command[],
  query: string,
  recent: readonly string[] = [],
): CommandGroup[] {
  const wanted = splitWords(query)
  const byId = new Map(commands.map((command) => [command.id, command]))
  const used = wanted.length === 0 ? recent.flatMap((id) => byId.get(id) ?? []) : []
  const matches = commands
    .filter((command) => !used.includes(command))
    .map((command) => ({ command, score: rank(command, wanted) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
  const found = groups
    .map((group) => ({ group, found: matches.filter(({ command }) => command.group === group) }))
    .filter(({ found }) => found.length > 0)
    .toSorted((one, other) => other.found[0]!.score - one.found[0]!.score)
    .map(({ group, found }) => ({
      group,
      commands: found.slice(0, shownPerGroup).map(({ command }) => command),
    }))
  return used.length > 0 ? [{ group: 'recent', commands: used }, ...found] : found
}

function rank({ label, keywords = '', searchOnly }: Command, wanted: readonly string[]): number {
  if (wanted.length === 0) return searchOnly ? 0 : 1
  const words = splitWords(label)
  const startsIn = (all: readonly string[]) =>
    wanted.every((start) => all.some((word) => word.startsWith(start)))
  if (words.join(' ').startsWith(wanted.join(' '))) return 3
  if (startsIn(words)) return 2
  return startsIn([...words, ...splitWords(keywords)]) ? 1 : 0
}

/** Lower-case words without accents: `José` and `jose` are the same. */
function splitWords(phrase: string): string[] {
  const plain = phrase.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return plain.split(/[^\p{L}\p{N}]+/u).filter(Boolean)
}
