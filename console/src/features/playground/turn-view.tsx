import { MessageSquarePlus, Pencil } from 'lucide-react'
import { memo, useState } from 'react'
import type { KeyboardEvent } from 'react'
import { classNames } from '../../class-names.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { TextArea } from '../../components/field.tsx'
import { text } from '../../text/index.ts'
import { AnswerView } from './answer-view.tsx'
import { requestAnswer, editPrompt } from './asking.ts'
import type { Turn } from './conversation.ts'
import { focusComposer } from './focus.ts'
import { isPlainEnter } from './keys.ts'

interface TurnViewProps {
  turn: Turn
  names: ReadonlyMap<string, string>
  /** The selected targets that answer requests. */
  readyIds: readonly string[]
  last: boolean
  /** Whether any answer is streaming. */
  busy: boolean
}

// Container queries, because panels beside the conversation make it narrower than the window.
const columns = [
  '',
  '',
  '@2xl:grid-cols-2',
  '@2xl:grid-cols-2 @4xl:grid-cols-3',
  '@2xl:grid-cols-2 @5xl:grid-cols-4',
]

/** A prompt and its answers, side by side. */
export const TurnView = memo(function TurnView({ turn, names, readyIds, last, busy }: TurnViewProps) {
  const answers = Object.entries(turn.answers)
  const others = last && !busy && !turn.results ? readyIds.filter((id) => !turn.answers[id]) : []
  const many = answers.length > 1
  const askOthers = () => {
    for (const id of others) requestAnswer(turn.id, id)
    focusComposer()
  }
  return (
    <div className={classNames('mx-auto grid w-full min-w-0 gap-4', !many && 'max-w-3xl')}>
      {turn.results?.items.map(({ id, name, content }) => (
        <div key={id} className="grid gap-1.5">
          <p className="font-medium">{text.answers.resultOf(name)}</p>
          <CodeBlock wrap code={content} label={text.answers.resultOf(name)} />
        </div>
      ))}
      {!turn.results && (
        <Prompt turn={turn} readyIds={readyIds} last={last} editable={!busy && readyIds.length > 0} />
      )}
      <div className={classNames('grid min-w-0 gap-4', columns[answers.length] ?? columns[4])}>
        {answers.map(([id, answer]) => (
          <div key={id} className={many ? 'min-w-0 rounded-xl bg-surface p-4' : 'min-w-0'}>
            <AnswerView
              answer={answer}
              turnId={turn.id}
              targetId={id}
              name={names.get(id) ?? text.playground.gone}
              repeatable={last && names.has(id)}
            />
          </div>
        ))}
      </div>
      {others.length > 0 && (
        <Button size="small" className="justify-self-start" onClick={askOthers}>
          <MessageSquarePlus aria-hidden />
          {others.length === 1
            ? text.answers.askToo(names.get(others[0] ?? '') ?? text.playground.gone)
            : text.answers.askOthersToo(others.length)}
        </Button>
      )}
    </div>
  )
})

const focusWhenShown = (field: HTMLTextAreaElement | null) => field?.focus()

/** The prompt, which can be edited. */
function Prompt({
  turn,
  readyIds,
  last,
  editable,
}: Pick<TurnViewProps, 'turn' | 'readyIds' | 'last'> & { editable: boolean }) {
  const [edited, setEdited] = useState<string | null>(null)
  const resend = () => {
    if (!edited?.trim() || !editable) return
    setEdited(null)
    editPrompt(turn.id, edited, readyIds)
    focusComposer()
  }
  const cancel = () => {
    setEdited(null)
    focusComposer()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.preventDefault()
      cancel()
    } else if (isPlainEnter(event)) {
      event.preventDefault()
      resend()
    }
  }
  if (edited !== null) {
    return (
      <div className="grid gap-2 rounded-xl bg-subtle p-4">
        <TextArea
          dir="auto"
          label={text.answers.edit}
          hint={last ? undefined : text.answers.editHint}
          className="field-sizing-content max-h-60"
          value={edited}
          ref={focusWhenShown}
          onChange={({ target }) => setEdited(target.value)}
          onKeyDown={onKeyDown}
        />
        <div className="flex justify-end gap-2">
          <Button onClick={cancel}>{text.common.cancel}</Button>
          <Button variant="primary" disabled={!edited.trim() || !editable} onClick={resend}>
            {text.answers.resend}
          </Button>
        </div>
      </div>
    )
  }
  return (
    <div className="group ml-auto grid max-w-[85%] justify-items-end gap-1">
      <p className="sr-only">{text.answers.you}</p>
      <ul className="flex flex-wrap justify-end gap-2 empty:hidden">
        {turn.images?.map((url, place) => (
          <li key={place}>
            <img
              src={url}
              alt={text.images.nth(place + 1)}
              className="max-h-48 max-w-full rounded-xl border object-contain"
            />
          </li>
        ))}
      </ul>
      {turn.prompt !== '' && (
        <p dir="auto" className="rounded-xl bg-subtle px-4 py-2.5 whitespace-pre-wrap wrap-anywhere">
          {turn.prompt}
        </p>
      )}
      <div className="flex pointer-fine:opacity-0 pointer-fine:group-focus-within:opacity-100 pointer-fine:group-hover:opacity-100">
        {turn.prompt !== '' && (
          <CopyButton value={turn.prompt} label={text.common.copy(text.answers.copyMessage)} />
        )}
        {editable && turn.prompt !== '' && (
          <Button
            variant="quiet"
            size="tiny"
            aria-label={text.answers.edit}
            onClick={() => setEdited(turn.prompt)}
          >
            <Pencil />
          </Button>
        )}
      </div>
    </div>
  )
}
