import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { TextArea } from '../../components/field.tsx'
import { text } from '../../text/index.ts'
import type { ToolCall } from './answer.ts'
import { sendToolResults } from './asking.ts'
import { focusComposer } from './focus.ts'

interface ToolResultsProps {
  targetId: string
  calls: readonly ToolCall[]
}

/** A field for the result of each tool call, which the model waits for. */
export function ToolResults({ targetId, calls }: ToolResultsProps) {
  const [contents, setContents] = useState(() => calls.map(() => ''))
  return (
    <form
      className="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        const items = calls.map(({ id, name }, place) => ({
          id: id || `call_${place}`,
          name,
          content: contents[place] ?? '',
        }))
        sendToolResults(targetId, items)
        focusComposer()
      }}
    >
      {calls.map(({ name }, place) => (
        <TextArea
          key={place}
          dir="auto"
          label={text.answers.resultOf(name)}
          className="field-sizing-content max-h-60 min-h-9! font-mono text-[0.8125rem]"
          value={contents[place]}
          onChange={({ target }) => setContents(contents.with(place, target.value))}
        />
      ))}
      <Button type="submit" size="small" className="justify-self-start">
        {text.answers.sendResults(calls.length)}
      </Button>
    </form>
  )
}
