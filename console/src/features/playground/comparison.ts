import { text } from '../../text/index.ts'
import { createStore } from './store.ts'

/** The compared texts. They live in memory, so they survive navigation but not the session. */
export interface Comparison {
  readonly texts: readonly ComparedText[]
  readonly result: ComparisonResult | null
}

export interface ComparedText {
  readonly id: number
  readonly words: string
}

export interface ComparisonResult {
  /** The texts that were compared. */
  readonly texts: readonly string[]
  readonly deploymentId: string
  readonly similarities: readonly (readonly number[])[]
  readonly dimensions: number
  readonly tokens: number | null
  readonly milliseconds: number
}

export const minTexts = 2
export const maxTexts = 8

let nextTextId = 1
const toText = (words: string): ComparedText => ({ id: nextTextId++, words })
const createComparison = (): Comparison => ({ texts: text.playground.exampleTexts.map(toText), result: null })

export const comparison = createStore<Comparison>(createComparison())

export function clearComparison() {
  comparison.set(createComparison)
}

export function setText(id: number, words: string) {
  comparison.set((state) => ({
    ...state,
    texts: state.texts.map((one) => (one.id === id ? { id, words } : one)),
  }))
}

export function addText() {
  comparison.set((state) => ({ ...state, texts: [...state.texts, toText('')] }))
}

export function removeText(id: number) {
  comparison.set((state) => ({ ...state, texts: state.texts.filter((one) => one.id !== id) }))
}
