import { TextArea, TextField } from '../../components/field.tsx'
import { text } from '../../text/index.ts'
import { conversation, setParameter } from './conversation.ts'
import type { ParameterErrors, ParameterTexts } from './parameters.ts'
import { useStore } from './store.ts'

/** The system prompt and the parameters of a request. */
export function ParametersForm({ errors }: { errors: ParameterErrors }) {
  const texts = useStore(conversation, (state) => state.parameters)
  const field = (name: keyof ParameterTexts) => ({
    name,
    value: texts[name],
    error: errors[name],
    autoComplete: 'off',
    onChange: ({ target }: { target: { value: string } }) => setParameter(name, target.value),
  })
  const number = { placeholder: text.playground.engineDefault, inputMode: 'decimal' } as const
  return (
    <div className="grid gap-4">
      <TextArea
        dir="auto"
        label={text.playground.system}
        placeholder={text.playground.systemPlaceholder}
        className="field-sizing-content max-h-60"
        {...field('system')}
      />
      <TextField
        label={text.playground.temperature}
        hint={text.playground.temperatureHint}
        {...number}
        {...field('temperature')}
      />
      <TextField
        label={text.playground.topP}
        hint={text.playground.topPHint}
        {...number}
        {...field('top_p')}
      />
      <TextField label={text.playground.maxTokens} {...number} {...field('max_tokens')} />
      <TextField
        label={text.playground.seed}
        hint={text.playground.seedHint}
        {...number}
        {...field('seed')}
      />
      <TextArea
        label={text.playground.stopSequences}
        hint={text.playground.stopSequencesHint}
        className="field-sizing-content max-h-40 min-h-9! font-mono text-[0.8125rem]"
        {...field('stop')}
      />
      <TextArea
        label={text.playground.extra}
        hint={text.playground.extraHint}
        placeholder={text.playground.extraPlaceholder}
        spellCheck={false}
        className="field-sizing-content max-h-60 min-h-9! font-mono text-[0.8125rem]"
        {...field('extra')}
      />
    </div>
  )
}
