import { Search } from 'lucide-react'
import { UnlabeledInput } from './field.tsx'

interface SearchInputProps {
  label: string
  value: string
  onChange: (value: string) => void
}

/** A field that searches the list below it. */
export function SearchInput({ label, value, onChange }: SearchInputProps) {
  return (
    <div className="relative min-w-0 flex-1 basis-48 lg:max-w-72">
      <Search aria-hidden className="absolute top-2.5 left-3 size-4 text-muted" />
      <UnlabeledInput
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={({ target }) => onChange(target.value)}
        className="pl-9"
        autoComplete="off"
        spellCheck={false}
      />
    </div>
  )
}
