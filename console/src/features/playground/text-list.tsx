import { Plus, X } from 'lucide-react'
import { useRef } from 'react'
import { Button } from '../../components/button.tsx'
import { UnlabeledInput } from '../../components/field.tsx'
import { text } from '../../text/index.ts'
import { addText, minTexts, maxTexts, removeText, setText } from './comparison.ts'
import type { ComparedText } from './comparison.ts'

/** The editable list of texts to compare. */
export function TextList({ texts }: { texts: readonly ComparedText[] }) {
  const list = useRef<HTMLOListElement>(null)
  const focusAt = (place: number) =>
    // The list re-renders before the next frame.
    requestAnimationFrame(() => list.current?.querySelectorAll('input')[place]?.focus())
  return (
    <div className="grid justify-items-start gap-2">
      <ol ref={list} className="grid w-full gap-2">
        {texts.map(({ id, words }, place) => (
          <li key={id} className="flex items-center gap-2">
            <span aria-hidden className="tabular w-4 shrink-0 text-right text-muted">
              {place + 1}
            </span>
            <UnlabeledInput
              aria-label={text.playground.nthText(place + 1)}
              value={words}
              onChange={({ target }) => setText(id, target.value)}
            />
            <Button
              variant="quiet"
              size="tiny"
              aria-label={text.playground.removeText(place + 1)}
              disabled={texts.length <= minTexts}
              onClick={() => {
                removeText(id)
                focusAt(Math.min(place, texts.length - 2))
              }}
            >
              <X />
            </Button>
          </li>
        ))}
      </ol>
      {texts.length < maxTexts && (
        <Button
          variant="quiet"
          size="small"
          className="ml-6"
          onClick={() => {
            addText()
            focusAt(texts.length)
          }}
        >
          <Plus aria-hidden />
          {text.playground.addText}
        </Button>
      )}
    </div>
  )
}
