import { ApiError } from '../../api/client.ts'
import { tabStorage } from '../../browser.ts'
import { isPending } from './answer.ts'
import type { Answer } from './answer.ts'
import { conversation, emptyConversation, restoreConversation } from './conversation.ts'
import type { Conversation } from './conversation.ts'
import { noParameters } from './parameter-texts.ts'

const key = 'playground'
const saveDelayMs = 300

let owner: string | null = null
let timer: ReturnType<typeof setTimeout> | undefined

/** Restores the owner's conversation after a reload, and saves it in the tab's session storage. */
export function keepConversation(currentOwner: string) {
  const isFirst = owner === null
  owner = currentOwner
  if (!isFirst) return
  const saved = readSaved()
  if (saved?.owner === owner) restoreConversation(saved.conversation)
  conversation.subscribe(() => {
    timer ??= setTimeout(save, saveDelayMs)
  })
  window.addEventListener('pagehide', save)
}

/** Removes the conversation of another person or organization. */
export function forgetSavedConversation() {
  clearTimeout(timer)
  timer = undefined
  tabStorage.remove(key)
}

interface Saved {
  owner: string
  conversation: Conversation
}

function save() {
  clearTimeout(timer)
  timer = undefined
  const saved = { owner, conversation: conversation.get() }
  tabStorage.write(key, JSON.stringify(saved, writeError))
}

function readSaved(): Saved | null {
  const stored = tabStorage.read(key)
  if (stored === null) return null
  try {
    const saved = JSON.parse(stored) as Saved
    const turns = saved.conversation.turns.map((turn) => ({
      ...turn,
      answers: Object.fromEntries(Object.entries(turn.answers).map(([id, answer]) => [id, revive(answer)])),
    }))
    const parameters = { ...noParameters, ...saved.conversation.parameters }
    return { ...saved, conversation: { ...emptyConversation, ...saved.conversation, parameters, turns } }
  } catch {
    return null
  }
}

/** JSON omits the message of an error. */
function writeError(_name: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value
  return Object.assign({ status: 0, code: 'unknown' }, value, { detail: value.message })
}

/** A reload has stopped the answers that were pending. */
function revive(answer: Answer): Answer {
  const error = answer.error && new ApiError(answer.error as ConstructorParameters<typeof ApiError>[0])
  return { ...answer, error, ...(isPending(answer) && { state: 'stopped' as const }) }
}
