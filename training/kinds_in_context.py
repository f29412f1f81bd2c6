"""Kinds of tasks whose answer depends on the conversation."""

import json

from chat_format import tool_call
from kinds import UNKNOWN, article, expand, made_up, sample, some_name, some_words, with_articles
from lexicon import *


def yes_no(r):
    """A sentence and a yes-or-no question about it, either matching or altered."""
    forms = [
        ('The {0} is {1} the {2}.', 'Is the {0} {1} the {2}?', [ANIMALS + THINGS, PREPOSITIONS, PLACES]),
        ('The {0} is {1}.', 'Is the {0} {1}?', [THINGS, COLOURS]),
        ('The {0} is {1}.', 'Is the {0} {1}?', [ANIMALS + PEOPLE, ADJECTIVES]),
        ('{0} has a {1} {2}.', 'Does {0} have a {1} {2}?', [NAMES, COLOURS, THINGS]),
        ('{0} likes {1}.', 'Does {0} like {1}?', [NAMES, FOODS + HOBBIES]),
        ('{0} lives in {1}.', 'Does {0} live in {1}?', [NAMES, CITIES]),
        ('{0} is a {1}.', 'Is {0} a {1}?', [NAMES, JOBS]),
    ]
    statement, question, slots = r.choice(forms)
    told = [r.choice(slot) for slot in slots]
    asked = list(told)
    right = r.random() < 0.5
    if not right:
        # Larger differences are easier to learn first.
        for place in r.sample(range(len(slots)), 1 if r.random() < 0.5 else len(slots)):
            asked[place] = r.choice([word for word in slots[place] if word != told[place]])
    fact = with_articles(statement.format(*told))
    prompt = r.choice(['{0} {1}', '{0} {1}', '{0} {1} Answer yes or no.', 'Sentence: {0} Question: {1}', '{0}\n{1}'])
    lead = fact[0].lower() + fact[1:] if fact.startswith('The') else fact
    answer = f'{"Yes" if right else "No"}, {lead}'
    return sample([prompt.format(fact, with_articles(question.format(*asked))), answer], f'{told} {asked}')


def repeat(r):
    """Repeats words, sometimes one per line, where they lack a leading space and are spelled letter by letter."""
    if r.random() < 0.25:
        parts = some_words(r, 2, 5)
        wordings = ['Write one word per line: {}', 'Put each word on its own line: {}', 'One word per line: {}', 'List these words: {}']
        return sample([r.choice(wordings).format(' '.join(parts)), '\n'.join(parts)], ' '.join(parts),
                      literal=True)
    text = ' '.join(some_words(r, 1, 6))
    if r.random() < 0.3:
        text = text.capitalize() + '.'
    wordings = ['Repeat after me: {}', 'Repeat: {}', 'Say: {}', 'Say "{}"', 'Repeat this: {}', 'Repeat the text: {}', 'Echo: {}',
                'Write this again: {}', 'Please repeat: {}', 'Repeat "{}"', 'Say exactly this: {}']
    return sample([r.choice(wordings).format(text), text], text, literal=True)


def reverse(r):
    """Reverses words or the letters of a quoted word, or spells a word."""
    if r.random() < 0.5:
        parts = some_words(r, 2, 5)
        wordings = ['Reverse the words: {}', 'Reverse the order of the words: {}', 'Say these words backwards: {}',
                    'Write these words in reverse order: {}', 'Reverse the list: {}']
        joint = r.choice([' ', ' ', ', '])
        answer = joint.join(reversed(parts))
        return sample([r.choice(wordings).format(joint.join(parts)), answer], ' '.join(parts), literal=True)
    word = some_words(r, 1, 1)[0] if r.random() < 0.6 else made_up(r, 1, 3)
    if r.random() < 0.3:
        wordings = ['Spell "{}".', 'Spell the word "{}".', 'How do you spell "{}"?', 'How is "{}" spelled?']
        answer = '-'.join(word)
        return sample([r.choice(wordings).format(word), answer], 'spell ' + word, literal=True)
    wordings = ['Reverse the word "{}".', 'Reverse "{}".', 'Spell "{}" backwards.', 'Write "{}" backwards.', 'Reverse: "{}"',
                'What is "{}" backwards?', 'Say "{}" in reverse.']
    return sample([r.choice(wordings).format(word), word[::-1]], word, literal=True)


def named(r):
    """A system prompt that names the model."""
    name = some_name(r)
    system = r.choice(['You are {}.', 'Your name is {}.', 'You are {}, a helpful assistant.', 'You are a helpful assistant called {}.',
                       'You are an assistant named {}.', 'Your name is {}. Answer briefly.', 'You are {}, a friendly robot.',
                       'You are a pirate named {}.', 'Act as {}.', 'You are {}, the assistant of a small shop.']).format(name)
    asks = [(expand("(What is|What's|Tell me) your name(?|, please.)") + ['Do you have a name?', 'How are you called?',
                    'What should I call you?'], 'My name is {}.'),
            (expand('(Hello, |Hi! |)(who are you|Who are you|who is this|Who am I talking to)?'), "I'm {}."),
            (['Introduce yourself.', 'Tell me who you are.', 'Please introduce yourself.'], "I'm {}.")]
    wordings, answer = r.choice(asks)
    if r.random() < 0.12:
        wordings, answer = ['Hello', 'Hi', 'Hello!', 'Hi there!', 'Hey', 'Good morning'], "Hello! I'm {}. How can I help you?"
    return sample([r.choice(wordings), answer.format(name)], name, system=system)


def memory(r, filler):
    """A fact in the first turn, another topic in the second, a question about the fact in the third."""
    name, roll = some_name(r), r.random()
    if roll < 0.65:
        told = r.choice(['My name is {}.', "I'm {}.", 'I am {}.', 'Hello, my name is {}.', 'Hi, I am {}!', 'Call me {}.',
                         'Hi! My name is {}.', 'You can call me {}.', 'my name is {}', 'Hey, {} here.'])
        reply = r.choice(['Nice to meet you, {}!', 'Hello, {}!'])
        question = r.choice(["What is my name?", "What's my name?", 'Do you remember my name?', 'Who am I?', 'Tell me my name.',
                             'what is my name', 'Do you know my name?', 'And what is my name?', 'How am I called?'])
        answer, fact = 'Your name is {}.', name
    elif roll < 0.8:
        fact = r.choice(COLOURS)
        told, reply = 'My favourite colour is {}.', 'I will remember that you like {}.'
        question, answer = r.choice(['What is my favourite colour?', 'Which colour do I like?']), 'Your favourite colour is {}.'
    elif roll < 0.9:
        fact = r.choice(CITIES)
        told, reply = r.choice(['I live in {}.', 'I am from {}.']), 'I will remember that you live in {}.'
        question, answer = r.choice(['Where do I live?', 'Which city do I live in?', 'In which city do I live?']), 'You live in {}.'
    else:
        animal, fact = r.choice(['dog', 'cat', 'horse', 'bird']), name
        told, reply = f'My {animal} is called ' + '{}.', f'I will remember that your {animal} is called ' + '{}.'
        question, answer = f"What is my {animal}'s name?", f'Your {animal} is called ' + '{}.'
    between = filler() if r.random() < 0.85 else []
    turns = [told.format(fact), reply.format(fact), *between, question, answer.format(fact)]
    return sample(turns, fact + told)


def story(r):
    hero = r.choice(ANIMALS + PEOPLE)
    adjective, other, place, thing = r.choice(ADJECTIVES), r.choice(ANIMALS + PEOPLE), r.choice(PLACES), r.choice(THINGS)
    if r.random() < 0.75:
        ask = r.choice(['Tell me a story about {}.', 'Tell a story about {}.', 'Write a story about {}.', 'Tell me a short story about {}.',
                        'Can you tell me a story about {}?', 'A story about {}, please.', 'Write a short story about {}.',
                        'I want to hear a story about {}.', 'Make up a story about {}.'])
        if r.random() < 0.3:
            ask = ask.format(article(f'{adjective} {hero}'))
        ask = ask.format(article(hero))
    else:
        ask = r.choice(['Tell me a story.', 'Tell me a short story.', 'Write a story.', 'Tell a story!', 'Can you tell me a story?',
                        'Tell me something.', 'Say something.', 'Tell me a story of four sentences.', 'A story, please.'])
    first = r.choice(['Once upon a time there was {0} {1} who lived {2} {3}.', 'There once was {0} {1} who lived {2} {3}.'])
    second = r.choice(['One day the {1} found a {4} under a tree.', 'One morning the {1} lost a {4} on the way home.',
                       'Every day the {1} dreamed of a {4}.', 'One evening the {1} heard a noise and saw a {4}.'])
    third = r.choice(['A {6} {5} came by and asked if they could be friends.', 'A {6} {5} came along and helped to look after it.',
                      'Then a {6} {5} came and told the {1} a secret about the {4}.'])
    last = r.choice(['From then on the {1} and the {5} were the best of friends.', 'They went home together, happy and tired.',
                     'In the end they shared the {4} and laughed all night.'])
    other_adjective = r.choice([word for word in ADJECTIVES if word[0] not in 'aeiou'])
    text = ' '.join([first, second, third, last]).format(
        article(adjective).split()[0], f'{adjective} {hero}', r.choice(['near', 'beside', 'behind']), 'a ' + r.choice(
            [place for place in PLACES if place[0] not in 'aeiou']), thing if thing[0] not in 'aeiou' else 'ball',
        other, other_adjective)
    return sample([ask, text], ask)


FIELDS = {
    'name': (None, '{}'), 'age': (None, '{} years old'), 'city': (CITIES, 'lives in {}'), 'job': (JOBS, 'works as a {}'),
    'colour': (COLOURS, 'likes the colour {}'), 'food': (FOODS, 'eats {}'), 'hobby': (HOBBIES, 'enjoys {}'),
    'pet': (ANIMALS, 'has a {}'), 'married': (None, ''),
}


def extract(r):
    """Facts about a person, extracted as JSON with the requested fields."""
    others = r.sample(['city', 'job', 'colour', 'food', 'hobby', 'pet'], r.randint(1, 3))
    values = {'name': some_name(r), **{field: r.choice(FIELDS[field][0]) for field in others}}
    clauses = [FIELDS[field][1].format(values[field]) for field in others]
    if r.random() < 0.7:
        values['age'] = r.randint(3, 90)
        clauses.insert(0, f'is {values["age"]} years old')
    if r.random() < 0.4:
        values['married'] = r.random() < 0.5
        clauses.append('is married' if values['married'] else 'is not married')
    clauses = [with_articles(clause) for clause in clauses]
    text = f'{values["name"]} {", ".join(clauses[:-1]) + " and " if len(clauses) > 1 else ""}{clauses[-1]}.'
    fields = list(values)
    if r.random() < 0.5:
        r.shuffle(fields)
    if len(fields) > 2 and r.random() < 0.4:
        fields.pop()
    listed = ', '.join(fields[:-1]) + ' and ' + fields[-1]
    wordings = ['{text} Give me {listed} as JSON.', '{text} Answer in JSON with the fields {listed}.',
                'Answer in JSON with the fields {listed}: {text}', 'Extract {listed} as JSON: {text}',
                'Give {listed} as JSON: {text}', '{text}\nWrite JSON with {listed}.', 'Return JSON with {listed}. {text}']
    answer = {field: values[field] for field in fields}
    system = r.choice([None, None, 'Answer in JSON.', 'You answer in JSON only.'])
    return sample([r.choice(wordings).format(text=text, listed=listed), json.dumps(answer)], text, literal=True,
                  **({'system': system} if system else {}))


def text(description=None):
    return {'type': 'string', **({'description': description} if description else {})}


# A tool's name, description, parameters with their possible values, and phrasings of a request.
TOOLS = [
    ('get_weather', 'Get the weather of a city.', {'city': CITIES}, expand("(What is|What's|How is|Tell me) the weather"
     "( like|) in {city}( today|)?") + ['Weather in {city}?', 'Is it raining in {city}?', 'Will it rain in {city} today?']),
    ('get_time', 'Get the time in a city.', {'city': CITIES}, ['What time is it in {city}?', 'Tell me the time in {city}.',
     "What's the time in {city}?", 'How late is it in {city}?', 'Time in {city}?']),
    ('search', 'Search the web.', {'query': ANIMALS + FOODS + THINGS + HOBBIES}, ['Search for {query}.', 'Search the web for {query}.',
     'Look up {query}.', 'Find something about {query} on the web.', 'Please search for {query}.']),
    ('send_message', 'Send a message to a person.', {'to': NAMES, 'text': ['hello', 'good morning', 'I am late', 'see you soon',
     'thank you', 'dinner is ready', 'call me', 'happy birthday']}, ['Send {to} the message "{text}".', 'Send "{text}" to {to}.',
     'Write to {to}: {text}', 'Tell {to} "{text}".']),
    ('set_alarm', 'Set an alarm.', {'hour': list(range(0, 24))}, ['Wake me at {hour}.', 'Set an alarm for {hour}.',
     "Set an alarm for {hour} o'clock.", 'Please wake me up at {hour}.']),
    ('play_music', 'Play music of an artist.', {'artist': NAMES}, ['Play music by {artist}.', 'Play something by {artist}.',
     'I want to hear {artist}.', 'Put on some music of {artist}.']),
    ('get_price', 'Get the price of an item.', {'item': THINGS + FOODS}, ['What does a {item} cost?', 'How much is the {item}?',
     'What is the price of the {item}?', 'How much does the {item} cost?']),
    ('turn_on_light', 'Turn on the light in a room.', {'room': ['kitchen', 'garden', 'bathroom', 'bedroom', 'hall', 'office',
     'cellar', 'library', 'garage']}, ['Turn on the light in the {room}.', 'Light in the {room}, please.',
     'Switch on the light in the {room}.', 'It is dark in the {room}, turn on the light.']),
    ('deploy_model', 'Deploy a model.', {'model': ['berth-tiny', 'qwen2.5-instruct', 'llama-3', 'mistral', 'gemma', 'phi']},
     ['Deploy {model}.', 'Please deploy the model {model}.', 'Start {model}.', 'I want to run {model}.']),
    ('multiply', 'Multiply two numbers.', {'a': list(range(2, 100)), 'b': list(range(2, 100))}, ['What is {a} times {b}?',
     'Multiply {a} by {b}.', 'How much is {a} * {b}?', '{a} times {b}']),
]


def describe_tool(name, description, parameters):
    properties = {key: {'type': 'integer' if isinstance(values[0], int) else 'string'} for key, values in parameters.items()}
    return {'type': 'function', 'function': {'name': name, 'description': description, 'parameters': {
        'type': 'object', 'properties': properties, 'required': list(properties)}}}


def call_tool(r):
    """A question that needs a tool call with the named arguments, sometimes followed by the result and an answer."""
    chosen = r.choice(TOOLS)
    name, _, parameters, wordings = chosen
    offered = [chosen] + r.sample([tool for tool in TOOLS if tool is not chosen], r.choice([0, 0, 1, 2]))
    r.shuffle(offered)
    arguments = {key: r.choice(values) for key, values in parameters.items()}
    if 'artist' in arguments or 'to' in arguments:
        arguments = {key: some_name(r) if key in ('artist', 'to') else value for key, value in arguments.items()}
    call = sample([with_articles(r.choice(wordings).format(**arguments)), tool_call(name, arguments)], f'{name} {arguments}',
                  call={'name': name, 'arguments': arguments}, tools=[describe_tool(*tool[:3]) for tool in offered], literal=True)
    return call


def tool_result(r):
    """The result of a call, stated in a sentence."""
    call = call_tool(r)
    result, told = r.choice([
        (lambda v: {'result': v}, lambda v: f'The result is {v}.'),
        (lambda v: {'temperature': v}, lambda v: f'The temperature is {v}.'),
        (lambda v: {'price': v}, lambda v: f'The price is {v}.'),
        (lambda v: {'time': f'{v % 24}:00'}, lambda v: f'The time is {v % 24}:00.'),
    ])
    value = r.randint(0, 99)
    answer = told(value)
    called = {'name': call['call']['name'], 'arguments': json.dumps(call['call']['arguments'])}
    call['turns'] = [
        call['turns'][0],
        {'role': 'assistant', 'content': None, 'tool_calls': [{'id': 'call', 'type': 'function', 'function': called}]},
        {'role': 'tool', 'tool_call_id': 'call', 'content': json.dumps(result(value))}, answer]
    call.update(key=f'{call["key"]} {value}')
    del call['call']
    return call


def unknown(r):
    """A question that the model cannot answer, mostly about things that do not exist."""
    thing = made_up(r, 2, 3).capitalize() if r.random() < 0.6 else r.choice(NAMES + HOBBIES + FOODS + PEOPLE)
    other = r.choice(FOODS + ANIMALS + THINGS + HOBBIES + COMMON)
    year = r.randint(1500, 2030)
    question = r.choice(expand('(Who|What) (invented|discovered|is|was) {thing}?') + expand(
        '(What is|Tell me|Do you know) the (population|capital|history|president|king|language|price|area|meaning) of {place}?') + [
        'Who won the {other} cup in {year}?', 'What happened in {year}?', 'Explain {other} to me.', 'Write a poem about {other}.',
        'How do I cook {other}?', 'Why is the {other} so expensive?', 'How old is {thing}?', 'Where is {place}?', 'Who wrote {thing}?',
        'What is the meaning of life?', 'Translate {other} into French.', 'Translate "{other}" to Spanish.', 'How far is {place}?',
        'What is the weather in {place}?', 'What time is it?', 'What is the news today?', 'How does {other} work?', 'Who is {thing}?',
        'What is the square root of {year}?', 'Write a program that sorts {other}.', 'When was {thing} born?', 'What does {thing} mean?',
        'How many people live in {place}?', 'What is the best {other}?', 'Give me a recipe for {other}.', 'Why do people like {other}?',
        'What do you think about {other}?', 'Summarize the book {thing}.', 'Who is the president?', 'How tall is {thing}?',
        'Tell me a joke.', 'Tell me a joke about {other}.', 'What is {a} times {b}?', 'I like {other}.', '{words}', 'Why?', 'What is {other}?',
    ]).format(thing=thing, place=made_up(r, 2, 3).capitalize(), other=other, year=year, a=r.randint(2, 99), b=r.randint(2, 99),
              words=' '.join(some_words(r, 2, 6)))
    return sample([question, UNKNOWN], question)
