import { useQuery } from '@tanstack/react-query'
import { SelectField } from '../../../components/field.tsx'
import { modelsQuery } from '../../../domain/models/queries.ts'
import { text } from '../../../text/index.ts'

const words = text.adapters

interface BaseModelFieldProps {
  /** Empty for the model that the files name */
  value: string
  onChange: (model: string) => void
  error: string | undefined
}

/** Selects the model that a LoRA changes. */
export function BaseModelField({ value, onChange, error }: BaseModelFieldProps) {
  const { data: models = [] } = useQuery(modelsQuery)
  return (
    <SelectField
      label={words.base}
      hint={words.baseHint}
      value={value}
      onChange={({ target }) => onChange(target.value)}
      error={error}
    >
      <option value="">{words.baseOfFiles}</option>
      {models
        .filter(({ base_model: base }) => base === null)
        .map(({ id, model_name: name }) => (
          <option key={id} value={name}>
            {name}
          </option>
        ))}
    </SelectField>
  )
}
