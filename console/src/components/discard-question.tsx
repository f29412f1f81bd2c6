import { text } from '../text/index.ts'
import { Button } from './button.tsx'
import { focusField } from './field.tsx'

/** Asks whether to give up what a person entered, in the place of the buttons. */
export function DiscardQuestion({ onKeep, onDiscard }: { onKeep: () => void; onDiscard: () => void }) {
  return (
    <div role="alert" className="flex flex-wrap items-center justify-end gap-2 border-t px-5 py-3">
      <p className="mr-auto font-medium">{text.discard.question}</p>
      <Button onClick={onDiscard}>{text.discard.discard}</Button>
      <Button ref={focusField} variant="primary" onClick={onKeep}>
        {text.discard.keepEditing}
      </Button>
    </div>
  )
}
