/** The grammar of JSON (RFC 8259) outside strings, as the transitions of a state machine. */

/** Kinds of containers. The outermost object is separate because the gateway reads only its members. */
export const kinds = ['document', 'array', 'object', 'topLevelObject'] as const
type Kind = (typeof kinds)[number]

const exponents = ['e', 'exponentSign', 'exponent'] as const
const numbers = ['minus', 'zero', 'integer', 'point', 'fraction', ...exponents] as const
const literals = ['t', 'tr', 'tru', 'f', 'fa', 'fal', 'fals', 'n', 'nu', 'nul'] as const
/** `end` is after a value. */
export const states = [
  'value',
  'valueOrEnd',
  'name',
  'nameOrEnd',
  'colon',
  'end',
  ...numbers,
  ...literals,
] as const
export type State = (typeof states)[number]

/** What else a transition does. `text` and `name` begin a string. */
export type Effect =
  | 'text'
  | 'name'
  | 'endMember'
  | 'array'
  | 'object'
  | 'topLevelObject'
  | 'close'
  | 'closeTopLevel'

/** Characters with the same transitions. All others occur only in strings. */
export const characterClasses = [' \t\n\r', '123456789', ...Array.from(',:"[]{}-0.+eEtrufalsn')]

/** From a state, one character of each class in `characters` leads to the state `to`. */
interface Transition {
  from: State
  characters: string
  to: State
  effect?: Effect
}

const scalars = [...numberTransitions(), ...literalTransitions()]

/** Returns the transitions in a container of this kind. Whatever is missing is invalid. */
export function transitionsIn(kind: Kind): Transition[] {
  const object = kind === 'document' ? 'topLevelObject' : 'object'
  const values: Transition[] = (['value', 'valueOrEnd'] as const).flatMap((from) => [
    { from, characters: ' ', to: from },
    { from, characters: '"', to: 'end', effect: 'text' },
    { from, characters: '[', to: 'valueOrEnd', effect: 'array' },
    { from, characters: '{', to: 'nameOrEnd', effect: object },
    { from, characters: '-', to: 'minus' },
    { from, characters: '0', to: 'zero' },
    { from, characters: '1', to: 'integer' },
    ...(['t', 'f', 'n'] as const).map((letter): Transition => ({ from, characters: letter, to: letter })),
  ])
  const ends = (['end', 'zero', 'integer', 'fraction', 'exponent'] as const).flatMap((from) =>
    endsIn(kind, from),
  )
  return [...values, ...namesIn(kind), ...scalars, ...ends]
}

function namesIn(kind: Kind): Transition[] {
  if (kind === 'array') return [{ from: 'valueOrEnd', characters: ']', to: 'end', effect: 'close' }]
  if (kind === 'document') return []
  const isTop = kind === 'topLevelObject'
  return [
    ...(['name', 'nameOrEnd'] as const).flatMap((from): Transition[] => [
      { from, characters: ' ', to: from },
      { from, characters: '"', to: 'colon', effect: isTop ? 'name' : 'text' },
    ]),
    { from: 'nameOrEnd', characters: '}', to: 'end', effect: isTop ? 'closeTopLevel' : 'close' },
    { from: 'colon', characters: ' ', to: 'colon' },
    { from: 'colon', characters: ':', to: 'value' },
  ]
}

function endsIn(kind: Kind, from: State): Transition[] {
  const space: Transition = { from, characters: ' ', to: 'end' }
  if (kind === 'document') return [space]
  if (kind === 'array') {
    return [
      space,
      { from, characters: ',', to: 'value' },
      { from, characters: ']', to: 'end', effect: 'close' },
    ]
  }
  if (kind === 'object') {
    return [
      space,
      { from, characters: ',', to: 'name' },
      { from, characters: '}', to: 'end', effect: 'close' },
    ]
  }
  return [
    space,
    { from, characters: ',', to: 'name', effect: 'endMember' },
    { from, characters: '}', to: 'end', effect: 'closeTopLevel' },
  ]
}

function numberTransitions(): Transition[] {
  // '1' stands for the digits from 1 to 9.
  return [
    { from: 'minus', characters: '0', to: 'zero' },
    { from: 'minus', characters: '1', to: 'integer' },
    { from: 'integer', characters: '01', to: 'integer' },
    ...(['zero', 'integer'] as const).map((from): Transition => ({ from, characters: '.', to: 'point' })),
    ...(['point', 'fraction'] as const).map((from): Transition => ({
      from,
      characters: '01',
      to: 'fraction',
    })),
    ...(['zero', 'integer', 'fraction'] as const).map((from): Transition => ({
      from,
      characters: 'eE',
      to: 'e',
    })),
    { from: 'e', characters: '+-', to: 'exponentSign' },
    ...exponents.map((from): Transition => ({ from, characters: '01', to: 'exponent' })),
  ]
}

function literalTransitions(): Transition[] {
  return ['true', 'false', 'null'].flatMap((word) =>
    Array.from(word.slice(1), (character, index): Transition => {
      const isLast = index + 2 === word.length
      return {
        from: word.slice(0, index + 1) as State,
        characters: character,
        to: isLast ? 'end' : (word.slice(0, index + 2) as State),
      }
    }),
  )
}
