import { TextArea, TextField } from '../../components/field.tsx'
import { text } from '../../text/index.ts'
import { conversation, setParameter } from './conversation.ts'
import type { ParameterTexts } from './parameter-texts.ts'
import type { ParameterErrors } from './parameters.ts'
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
  const number = { placeholder: text.chatParameters.engineDefault, inputMode: 'decimal' } as const
  return (
    <div className="grid gap-4">
      <TextArea
        dir="auto"
        label={text.chatParameters.system}
        placeholder={text.chatParameters.systemPlaceholder}
        className="field-sizing-content max-h-60"
        {...field('system')}
      />
      <TextField
        label={text.chatParameters.temperature}
        hint={text.chatParameters.temperatureHint}
        {...number}
        {...field('temperature')}
      />
      <TextField
        label={text.chatParameters.topP}
        hint={text.chatParameters.topPHint}
        {...number}
        {...field('top_p')}
      />
      <TextField label={text.chatParameters.maxTokens} {...number} {...field('max_tokens')} />
      <TextField
        label={text.chatParameters.seed}
        hint={text.chatParameters.seedHint}
        {...number}
        {...field('seed')}
      />
      <TextArea
        label={text.chatParameters.stopSequences}
        hint={text.chatParameters.stopSequencesHint}
        className="field-sizing-content max-h-40 min-h-9! font-mono text-[0.8125rem]"
        {...field('stop')}
      />
      <TextArea
        label={text.chatParameters.tools}
        hint={text.chatParameters.toolsHint}
        placeholder={text.chatParameters.toolsPlaceholder}
        spellCheck={false}
        className="field-sizing-content max-h-60 min-h-9! font-mono text-[0.8125rem]"
        {...field('tools')}
      />
      <TextArea
        label={text.chatParameters.extra}
        hint={text.chatParameters.extraHint}
        placeholder={text.chatParameters.extraPlaceholder}
        spellCheck={false}
        className="field-sizing-content max-h-60 min-h-9! font-mono text-[0.8125rem]"
        {...field('extra')}
      />
    </div>
  )
}
