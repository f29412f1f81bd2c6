/** A constant text of a call. `id` stands for the id of the call, `index` for its number from 0. */
export type CallText = readonly (string | { readonly part: 'id' | 'index' })[]

/** How a model writes a value of a parameter: what stands before and after it. */
interface ValueFrame {
  before: string
  after: string
}

/** How the arguments of a call are written. */
export type ArgumentsFormat =
  /** A JSON object. `keys` names the members of the object around name and arguments, if any. */
  | { kind: 'json'; keys: { name: string | null; arguments: string } | null }
  /** Each parameter by itself: texts in `text`, everything else in `other` */
  | {
      kind: 'parameters'
      start: string
      separator: string
      text: ValueFrame
      other: ValueFrame
      /** How lists and objects are written in a parameter */
      notation: 'json' | 'python' | 'gemma'
    }

/** How a model writes calls: `sectionStart (start NAME middle ARGUMENTS end) separator … sectionEnd`. */
export interface CallFormat {
  sectionStart: string
  sectionEnd: string
  separator: string
  start: CallText
  middle: CallText
  end: CallText
  arguments: ArgumentsFormat
  /** False if a turn can have one call only */
  allowsSeveral: boolean
  /** What begins a call, without white space; null if a call is an answer that begins with a brace */
  marker: string | null
}

/** How a model writes its thoughts, without white space around the marks. */
export interface ThoughtFormat {
  start: string
  end: string
}

/** The text of a constant part of the call number `index`. */
export function writeCallText(text: CallText, { id, index }: { id: string; index: number }): string {
  return text.map((part) => (typeof part === 'string' ? part : part.part === 'id' ? id : index)).join('')
}
