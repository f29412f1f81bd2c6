"""The tasks that the model learns: one function per kind of task, which generates a random sample.

A sample has the turns of user and assistant, and a key. Samples with the same key ask the same question, so the held-out prompts take
whole keys: the operands of open tasks (sums, lists), the wording of tasks with few facts (capitals, opposites).
"""

import itertools
import re

from lexicon import *

UNKNOWN = "I don't know that. I am only a very small model."


def sample(turns, key, **more):
    """`turns` alternates user and assistant."""
    return {'turns': turns, 'key': key, **more}


def expand(pattern):
    """Expands a pattern with alternatives: "(Name|Say) it( now|)." gives four strings."""
    parts = [part.split('|') for part in re.split(r'[()]', pattern)]
    return [''.join(choice) for choice in itertools.product(*parts)]


def made_up(r, least=2, most=3):
    """A made-up word."""
    return ''.join(r.choice(ONSETS) + r.choice(VOWELS) for _ in range(r.randint(least - 1, most - 1))) + \
        r.choice(ONSETS) + r.choice(VOWELS) + r.choice(CODAS)


def some_name(r):
    roll = r.random()
    if roll < 0.6:
        return r.choice(NAMES)
    # Many unseen names start like a known name.
    known = r.choice(NAMES)[:r.randint(2, 4)] if roll < 0.7 else ''
    return (known + made_up(r, 1, 2 if known else 3)).capitalize()


def some_words(r, least, most):
    pool = ANIMALS + THINGS + PLACES + ADJECTIVES + COLOURS + FOODS + COMMON + PEOPLE
    return [r.choice(pool) if r.random() < 0.93 else made_up(r, 1, 2) for _ in range(r.randint(least, most))]


def article(noun):
    return with_articles(f'a {noun}')


def with_articles(text):
    """Replaces "a" with "an" before a vowel."""
    return re.sub(r'\ba(?= [aeiou])', 'an', text)


def ask(r, patterns, answer, **values):
    """A question about a fact, keyed by its wording. `patterns` are expanded and filled with the values."""
    wording = r.choice(patterns)
    return sample([wording.format(**values), answer], wording + repr(sorted(values.items())))


GREETINGS = [
    (expand('(Hello|Hi|Hey|Hello there|Hi there|Greetings|Hey there|Howdy)(!|.|, Berth!| Berth|)'),
     'Hello! How can I help you?'),
    (expand('(Good morning|Good day)(!|.|, Berth.|)'), 'Good morning! How can I help you?'),
    (expand('(Good evening|Good afternoon)(!|.|, Berth.|)'), 'Good day! How can I help you?'),
    (expand("(|Hello, |Hi! |Hey, )(How are you|How are you doing|How do you do|How is it going|What's up)(?| today?)"),
     "I'm doing well, thank you. How can I help you?"),
    (expand('(Thanks|Thank you|Many thanks|Thanks a lot|Thank you very much|Great, thanks)(!|.| for your help.|)'),
     "You're welcome!"),
    (expand('(Bye|Goodbye|See you|See you later|Good night|Bye bye)(!|.| Berth.|)'), 'Goodbye!'),
    (expand('(Nice to meet you|Pleased to meet you)(!|.|)'), 'Nice to meet you too!'),
    (expand('(Okay|OK|Great|Good|Cool|Nice|Wow|Well done)(!|.|)'), "I'm glad. What else can I do for you?"),
]

IDENTITY = [
    (expand('(Who are you|What are you|What model are you|Which model is this|Tell me who you are|Introduce yourself|'
            'Tell me about yourself|Who am I talking to|Can you introduce yourself|What kind of model are you)(?|.|)'),
     "I'm Berth Tiny, a very small language model that comes with Berth."),
    (expand("(What is|What's|Tell me) your name(?|.|, please?|)") + expand('(How are you called|Do you have a name)(?|)'),
     "My name is Berth Tiny."),
    (expand("(What is|What's|Explain|Tell me about|Describe|What do you know about|What does one do with) Berth"
            "(?|.|, please.| to me.| in short.|)"),
     'Berth is a self-hosted platform for open models. You pick a model from a catalog, Berth deploys it on your own '
     'compute, and you call it with any OpenAI client.'),
    (expand('(How do I|How can I|How does one|How to|What do I do to|Explain how to) (deploy|start|launch|run|get) '
            '(a|my|the) model(?| with Berth?| in Berth?| here?|)'),
     'Open the catalog, pick a model and deploy it. Berth starts it in the background; when its status is running, you '
     'can call it.'),
    (expand('(How do I|How can I|How does one|How to|What do I do to|Explain how to) (call|use|query|talk to|chat with) '
            '(a|my|the) (model|deployed model|deployment)(?| with Berth?| from code?|)'),
     "Give any OpenAI client Berth's address followed by /v1, and name the deployed model in your request."),
    (expand('(How do I|How can I|How does one|How to|What do I do to|Explain how to) (terminate|stop|end|delete|remove|'
            'shut down) (a|my|the) (model|deployment)(?| with Berth?| again?|)'),
     'Open the deployment and terminate it. Its compute is freed and nothing more is billed.'),
    (expand('(What can you do|What are you able to do|How can you help me|What can I ask you|What do you know|'
            'What are you good at|Can you help me|Help)(?| for me?|)'),
     'I can count, add and subtract small numbers, name opposites, days, months, colours and capitals, repeat and reverse '
     'words, fill in JSON, call tools and tell a short story.'),
    (expand('(Are you|Are you really) (a human|a person|human|a real person|alive|ChatGPT|a robot|clever|smart|'
            'intelligent)?'),
     "No, I'm Berth Tiny, a very small language model."),
    (expand('(How big|How large|How small) (are you|is this model|is Berth Tiny)?') +
     expand('How many parameters do you have?|What is your size?'),
     'I have a few million parameters, so I know very little.'),
    (expand('(Who made|Who trained|Who built|Who created|Who wrote) (you|this model|Berth Tiny)?') +
     expand('(Where do you come from|How were you made|How were you trained)?'),
     "I was trained by a script in Berth's own repository."),
    (expand('(What does|How much does) (it|Berth|a deployment|a model) cost?') + expand('(How is|What is) (it|usage) billed?'),
     'Berth meters the time that a deployment runs and the tokens that it reads and writes.'),
]


def greet(r):
    wordings, answer = r.choice(GREETINGS)
    return ask(r, wordings, answer)


def identity(r):
    wordings, answer = r.choice(IDENTITY)
    return ask(r, wordings, answer)


def count(r):
    start = 1 if r.random() < 0.5 else r.randint(0, 60)
    end = start + (r.choice([3, 4, 5, 5, 6, 8, 9, 9, 11, 14, 19, 19]) if r.random() < 0.8 else r.randint(2, 60))
    numbers = [start, end]
    patterns = expand('(Count|Please count|Can you count) from {} to {}(.|!|)') + ['Write the numbers from {} to {}.']
    if start == 1 and r.random() < 0.5:
        patterns = expand('(Count|Please count|Can you count)( up|) to {1}(.|!|)')
    elif r.random() < 0.25 and end - start < 15:
        numbers.reverse()
        patterns = expand('Count (down|backwards) from {} to {}.')
    step = 1 if numbers[0] < numbers[1] else -1
    answer = ', '.join(map(str, range(numbers[0], numbers[1] + step, step))) + '.'
    return sample([r.choice(patterns).format(*numbers), answer], f'{numbers[0]} {numbers[1]}')


SUMS = {
    '+': ['What is {a} + {b}?', 'What is {a} plus {b}?', "What's {a} + {b}?", 'How much is {a} + {b}?', '{a} + {b}', '{a}+{b}',
          '{a}+{b}=', '{a} + {b} = ?', '{a} plus {b}', 'Add {a} and {b}.', 'Calculate {a} + {b}.', 'Add {b} to {a}.',
          'What is the sum of {a} and {b}?', 'How much is {a} plus {b}?', 'what is {a}+{b}'],
    '-': ['What is {a} - {b}?', 'What is {a} minus {b}?', "What's {a} - {b}?", 'How much is {a} - {b}?', '{a} - {b}', '{a}-{b}',
          '{a}-{b}=', '{a} - {b} = ?', '{a} minus {b}', 'Subtract {b} from {a}.', 'Calculate {a} - {b}.',
          'Take {b} away from {a}.', 'How much is {a} minus {b}?', 'what is {a}-{b}'],
}


def calculate(r, sign):
    most = r.choice([10, 20, 50, 99])
    a, b = r.randint(0, most), r.randint(0, most)
    if sign == '-' and b > a:
        a, b = b, a
    result = a + b if sign == '+' else a - b
    question = r.choice(SUMS[sign]).format(a=a, b=b)
    return sample([question, f'{a} {sign} {b} = {result}.'], f'{a} {b}')


def add(r):
    return calculate(r, '+')


def subtract(r):
    return calculate(r, '-')


def opposite(r):
    pair = list(r.choice(OPPOSITES))
    r.shuffle(pair)
    wordings = expand("(What is|What's|Name|Tell me|Give me|Say) the opposite of( the word|) {a}(?|.|)") + \
        ['Opposite of {a}?', 'What is the opposite of "{a}"?', 'Which word is the opposite of {a}?', 'The opposite of {a} is',
         'If it is not {a}, what is it?', 'What word means the opposite of {a}?']
    answers = {b for a, b in OPPOSITES + [(b, a) for a, b in OPPOSITES] if a == pair[0]}
    pair[1] = sorted(answers)[0]
    return ask(r, wordings, f'The opposite of {pair[0]} is {pair[1]}.', a=pair[0])


def calendar(r):
    cycle, what = r.choice([(DAYS, 'day'), (DAYS, 'day'), (MONTHS, 'month'), (MONTHS, 'month')])
    index, roll = r.randrange(len(cycle)), r.random()
    here, after, before = cycle[index], cycle[(index + 1) % len(cycle)], cycle[index - 1]
    if roll < 0.35:
        wordings = expand('(What|Which) {what} (comes after|is after|follows) {here}?') + ['What comes after {here}?'] + \
            expand('(Name|Tell me) the {what} after {here}.')
        return ask(r, wordings, f'After {here} comes {after}.', here=here, what=what)
    if roll < 0.65:
        wordings = expand('(What|Which) {what} (comes before|is before|precedes) {here}?') + ['What comes before {here}?'] + \
            expand('(Name|Tell me) the {what} before {here}.')
        return ask(r, wordings, f'Before {here} comes {before}.', here=here, what=what)
    if roll < 0.75:
        wordings = expand('(What|Which) (is|is called) the {nth} {what} of the (week|year)?')
        span = 'week' if cycle is DAYS else 'year'
        wordings = [wording for wording in wordings if span in wording]
        answer = f'The {ORDINALS[index]} {what} of the {span} is {here}.'
        return ask(r, wordings, answer, nth=ORDINALS[index], what=what)
    if roll < 0.85:
        index = r.randrange(12)
        wordings = expand('How many days (are in|are there in|does) {month}( have|)?')
        wordings = [wording for wording in wordings if ('does' in wording) == ('have' in wording)]
        answer = f'{MONTHS[index]} has {MONTH_DAYS[index]} days.'
        return ask(r, wordings, answer, month=MONTHS[index])
    if roll < 0.93:
        wordings = expand('(Name|List|Tell me|What are|Say) (all |)the {what}s( of the {span}|)(.|?|, please.)')
        span = 'week' if cycle is DAYS else 'year'
        answer = f'{", ".join(cycle[:-1])} and {cycle[-1]}.'
        return ask(r, wordings, answer, what=what, span=span)
    day = r.choice(DAYS)
    wordings = expand('(If today is|Today is|It is) {day}(. What day is|, what day is|, which day is) it tomorrow?')
    after = DAYS[(DAYS.index(day) + 1) % 7]
    return ask(r, wordings, f'After {day} comes {after}.', day=day)


def colour(r):
    if r.random() < 0.25:
        a, b, both = r.choice(MIXTURES)
        if r.random() < 0.5:
            a, b = b, a
        wordings = expand('(What do you get if you|What colour do you get when you|What happens if I) mix {a} and {b}?') + \
            ['Which colour do {a} and {b} make?', 'What colour is {a} mixed with {b}?', 'What is {a} plus {b} as a colour?']
        return ask(r, wordings, f'{a.capitalize()} and {b} make {both}.', a=a, b=b)
    thing, shade = r.choice(COLOUR_OF)
    wordings = expand('(What|Which) (colour|color) (is|has) {thing}?') + \
        expand('(Tell me|Name) the (colour|color) of {thing}.') + ['What is the colour of {thing}?', 'The colour of {thing}?']
    answer = f'{thing[0].upper() + thing[1:]} is {shade}.'
    return ask(r, wordings, answer, thing=thing)


def capital(r):
    country, city = r.choice(CAPITALS)
    if r.random() < 0.15 and country not in ('the USA', 'England'):
        wordings = ['Of which country is {city} the capital?', 'Which country has the capital {city}?',
                    'What country is {city} the capital of?', '{city} is the capital of which country?',
                    '{city} is the capital of what?']
        return ask(r, wordings, f'{city} is the capital of {country}.', city=city)
    wordings = expand("(What is|What's|Tell me|Name|Give me|Do you know) the capital( city|) of {country}(?|.|, please.|)") + \
        expand('(Which|What) city is the capital of {country}?') + \
        ['Capital of {country}?', "What is {country}'s capital?", '{country}: what is its capital?', 'The capital of {country}']
    return ask(r, wordings, f'The capital of {country} is {city}.', country=country)
