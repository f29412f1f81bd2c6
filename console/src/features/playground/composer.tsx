import { ArrowUp, Square } from 'lucide-react'
import { Suspense, useEffect } from 'react'
import { Button } from '../../components/button.tsx'
import { text } from '../../text/index.ts'
import { conversation, setDraft } from './conversation.ts'
import { composerId, focusComposer } from './focus.ts'
import { isPlainEnter } from './keys.ts'
import { ImageDraft } from './lazy-parts.ts'
import { loadAsking } from './load-asking.ts'
import { useStore } from './store.ts'

interface ComposerProps {
  readyIds: readonly string[]
  busy: boolean
  /** Whether the parameters are valid. */
  valid: boolean
  /** Whether every selected model reads images */
  takesImages: boolean
}

/** The message field with the send and stop buttons. */
export function Composer({ readyIds, busy, valid, takesImages }: ComposerProps) {
  const draft = useStore(conversation, (state) => state.draft)
  const hasImages = useStore(conversation, ({ images }) => images.length > 0)
  const sendable = (draft.trim() !== '' || hasImages) && readyIds.length > 0 && valid && !busy
  const send = () => {
    if (sendable) void loadAsking().then(({ sendPrompt }) => sendPrompt(draft.trim(), readyIds))
    focusComposer()
  }
  useEffect(() => {
    const { activeElement } = document
    if (activeElement === document.body || activeElement?.id === 'content') focusComposer()
  }, [])
  return (
    <div className="mx-auto grid w-full max-w-3xl rounded-xl border border-line-strong/70 bg-surface focus-within:outline-2 focus-within:outline-accent">
      <textarea
        dir="auto"
        id={composerId}
        aria-label={text.playground.message}
        aria-keyshortcuts="Enter"
        placeholder={text.playground.messagePlaceholder}
        rows={1}
        className="field-sizing-content max-h-48 min-h-11 resize-none bg-transparent px-4 pt-3 outline-none placeholder:text-muted"
        value={draft}
        onChange={({ target }) => setDraft(target.value)}
        onKeyDown={(event) => {
          if (!isPlainEnter(event)) return
          event.preventDefault()
          send()
        }}
      />
      <div className="flex items-center justify-between gap-3 p-2 pl-4">
        <Suspense>{(takesImages || hasImages) && <ImageDraft />}</Suspense>
        <p className="mr-auto text-xs text-muted">
          <span className="max-sm:hidden pointer-coarse:hidden">
            {busy ? text.playground.stopHint : text.playground.composerHint}
          </span>
        </p>
        {busy ? (
          <Button
            size="small"
            onClick={() => {
              void loadAsking().then(({ stopAllAnswers }) => stopAllAnswers())
              focusComposer()
            }}
          >
            <Square aria-hidden className="fill-current" />
            {text.playground.stop}
          </Button>
        ) : (
          <Button variant="primary" size="small" disabled={!sendable} onClick={send}>
            <ArrowUp aria-hidden />
            {text.playground.send}
          </Button>
        )}
      </div>
    </div>
  )
}
