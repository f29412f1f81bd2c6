import { Button } from '../../components/button.tsx'
import { text } from '../../text/index.ts'
import { setDraft } from './conversation.ts'
import { focusComposer } from './focus.ts'
import { useSuggestedPrompts } from './queries.ts'

interface EmptyTranscriptProps {
  /** The model whose prompts are suggested. */
  modelName: string | undefined
  many: boolean
}

/** Suggests how a conversation may begin. */
export function EmptyTranscript({ modelName, many }: EmptyTranscriptProps) {
  const prompts = useSuggestedPrompts(modelName)
  return (
    <div className="m-auto grid justify-items-center gap-4 px-4 py-4 text-center sm:px-8">
      <div className="grid gap-1">
        <h2 className="text-base font-semibold">{text.playground.start}</h2>
        <p className="text-muted">{text.playground.beginMore(many)}</p>
      </div>
      <ul className="grid gap-2">
        {prompts.map((prompt) => (
          <li key={prompt}>
            <Button
              className="h-auto! max-w-full py-2 font-normal! whitespace-normal!"
              onClick={() => {
                setDraft(prompt)
                focusComposer()
              }}
            >
              {prompt}
            </Button>
          </li>
        ))}
      </ul>
    </div>
  )
}
