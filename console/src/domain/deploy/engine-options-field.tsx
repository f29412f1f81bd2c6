import { useState } from 'react'
import { TextArea } from '../../components/field.tsx'
import type { DeploymentPlan } from '../../contract.ts'
import { parseEngineOptions, writeEngineOptions } from '../../engine-options.ts'
import type { EngineOptions } from '../../engine-options.ts'
import { text } from '../../text/index.ts'

const words = text.engine

interface EngineOptionsFieldProps {
  initial: EngineOptions
  /** Undefined until the first plan is known, and while it can't be made */
  plan: DeploymentPlan | undefined
  /** Gets undefined while a line has no name */
  onChange: (options: EngineOptions | undefined) => void
}

/** Edits the options of an engine as lines, and shows the command line that they make. */
export function EngineOptionsField({ initial, plan, onChange }: EngineOptionsFieldProps) {
  const [lines, setLines] = useState(writeEngineOptions(initial).join('\n'))
  const { error } = read(lines)
  return (
    <div className="grid gap-4">
      <TextArea
        label={words.options}
        hint={words.optionsHint}
        error={error}
        spellCheck={false}
        autoCapitalize="off"
        className="font-mono text-[0.8125rem]"
        value={lines}
        onChange={({ target }) => {
          setLines(target.value)
          onChange(read(target.value).options)
        }}
      />
      {plan?.command && (
        <div className="grid gap-1.5">
          <p className="font-medium">{words.command}</p>
          <code className="rounded-md border bg-subtle px-3 py-2 text-xs break-words">
            {plan.command.join(' ')}
          </code>
        </div>
      )}
    </div>
  )
}

function read(lines: string): { options?: EngineOptions; error?: string } {
  try {
    return { options: parseEngineOptions(lines.split('\n')) }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { error: words.malformed(error.message) }
  }
}
