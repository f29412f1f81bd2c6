import { isPending } from './answer.ts'
import type { Answer } from './answer.ts'
import { noParameters } from './parameter-texts.ts'
import type { ParameterTexts } from './parameter-texts.ts'
import { createStore } from './store.ts'

/** What a person's program returned to a tool call of the model. */
export interface ToolResult {
  readonly id: string
  readonly name: string
  readonly content: string
}

/** A prompt and its answers by the id of the deployment, or of the deployment with a LoRA (`targets.ts`). */
export interface Turn {
  readonly id: number
  /** Empty if the turn has results of tool calls */
  readonly prompt: string
  /** Data URLs; absent for none */
  readonly images?: readonly string[]
  /** The results of the calls in the answer of this target to the turn before */
  readonly results?: { readonly targetId: string; readonly items: readonly ToolResult[] }
  readonly answers: Readonly<Record<string, Answer>>
}

/** The chat. It lives in memory, and `saved-conversation.ts` keeps it over a reload. */
export interface Conversation {
  readonly turns: readonly Turn[]
  /** The unsent message. */
  readonly draft: string
  /** Those of the unsent message, as data URLs */
  readonly images: readonly string[]
  readonly parameters: ParameterTexts
  /** The deployments and LoRAs that were selected last. */
  readonly deploymentIds: readonly string[]
}

export const emptyConversation: Conversation = {
  turns: [],
  draft: '',
  images: [],
  parameters: noParameters,
  deploymentIds: [],
}

export const conversation = createStore<Conversation>(emptyConversation)

/** Whether an answer of this deployment is waited for or streaming. */
export const isAsking = ({ turns }: Conversation, deploymentId: string) =>
  turns.some(({ answers: { [deploymentId]: answer } }) => answer !== undefined && isPending(answer))

export const hasPendingAnswer = ({ turns }: Conversation) =>
  turns.some(({ answers }) => Object.values(answers).some(isPending))

/** The most important outcome among the answers of the last turn; null until one of them has ended. */
export function findOutcome({ turns }: Pick<Conversation, 'turns'>) {
  const states = Object.values(turns.at(-1)?.answers ?? {}).map(({ state }) => state)
  return (['failed', 'stopped', 'done'] as const).find((ending) => states.includes(ending)) ?? null
}

/** Continues an earlier conversation, unless a new one has begun. */
export function restoreConversation(saved: Conversation) {
  conversation.set((state) =>
    state.turns.length > 0 || state.draft !== ''
      ? state
      : {
          ...saved,
          deploymentIds: state.deploymentIds.length > 0 ? state.deploymentIds : saved.deploymentIds,
        },
  )
}

export function setDraft(draft: string) {
  conversation.set((state) => ({ ...state, draft }))
}

export function setImages(change: (images: readonly string[]) => readonly string[]) {
  conversation.set((state) => ({ ...state, images: change(state.images) }))
}

export function setParameter(name: keyof ParameterTexts, value: string) {
  conversation.set((state) => ({ ...state, parameters: { ...state.parameters, [name]: value } }))
}

export function setDeployments(deploymentIds: readonly string[]) {
  conversation.set((state) => ({ ...state, deploymentIds }))
}
