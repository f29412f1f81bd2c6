interface FirstErrorProps {
  /** The id of the form */
  form: string
  error: string | undefined
}

/** Says beside a disabled button what the form lacks, and leads to the first field that is wrong. */
export function FirstError({ form, error }: FirstErrorProps) {
  if (error === undefined) return null
  const lead = () => {
    const wrong = document
      .getElementById(form)
      ?.querySelector<HTMLElement>('[aria-invalid=true], [role=group]:has([role=alert]) input')
    wrong?.scrollIntoView({ block: 'center' })
    wrong?.focus({ preventScroll: true })
  }
  return (
    <button
      type="button"
      className="mr-auto min-w-0 text-left text-[0.8125rem] text-bad underline underline-offset-4"
      onClick={lead}
    >
      {error}
    </button>
  )
}
