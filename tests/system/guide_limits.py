#!/usr/bin/env python3
"""Is the guide easy to read? Bounds for its chapters, paragraphs, sentences and pictures; chapters that it names exist.
    guide_limits.py GUIDE"""
import os
import re
import sys

CHAPTER_WORDS, PARAGRAPH_WORDS, SENTENCE_WORDS, PICTURES_BYTES = 1500, 90, 30, 300 * 1024

guide = sys.argv[1]
text = open(guide, encoding="utf-8").read()
problems = []


def words(part):
    return sum(bool(re.search(r"\w", word)) for word in part.split())


def plain(part):
    """Code and links count as one word each."""
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "CODE", re.sub(r"<!--.*?-->", "", part)))


def paragraphs(chapter):
    """Blocks of prose, items of lists, and cells of tables."""
    for block in re.split(r"\n\s*\n", re.sub(r"(?m)^    .*\n", "\n", chapter)):
        for part in re.split(r"(?m)^(?:\* |\d+\. |\|)", block):
            yield from re.split(r" (?<!\\)\| ", part)


def check_chapter(title, body):
    if words(body) > CHAPTER_WORDS:
        problems.append(f"chapter '{title}' has {words(body)} words: at most {CHAPTER_WORDS}")
    for paragraph in paragraphs(body):
        count = words(plain(paragraph))
        if count > PARAGRAPH_WORDS:
            problems.append(f"{title}: {count} words in a paragraph, at most {PARAGRAPH_WORDS}: {paragraph.strip()[:80]} …")
        for sentence in re.split(r"(?<=[.?!])\**\s", plain(paragraph)):
            if words(sentence) > SENTENCE_WORDS:
                problems.append(f"{title}: {words(sentence)} words in a sentence, at most {SENTENCE_WORDS}: {sentence.strip()[:80]} …")


titles = re.findall(r"(?m)^##+ (.*)", text)
chapters = re.split(r"(?m)^## (.*)\n", text)
if len(chapters) < 20:
    sys.exit("the guide has no chapters")
check_chapter("the beginning", chapters[0])
for title, body in zip(chapters[1::2], chapters[2::2]):
    check_chapter(title, body)

for name in re.findall(r'"(sprof [^"]*|[A-Z][^"]{5,50})"', re.sub(r"(?m)^    .*", "", re.sub(r"`[^`]*`", "", text))):
    if name not in titles:
        problems.append(f"no chapter has the name '{name}'")

pictures = [os.path.join(os.path.dirname(guide), name) for name in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", text)]
missing = [name for name in pictures if not os.path.isfile(name)]
problems += [f"the picture {name} is not there" for name in missing]
size = sum(os.path.getsize(name) for name in set(pictures) - set(missing))
if not pictures or size > PICTURES_BYTES:
    problems.append(f"{len(pictures)} pictures have {size} bytes: at most {PICTURES_BYTES}")
print("\n".join(problems) or f"{words(text)} words in {len(titles)} chapters and sections, {len(pictures)} pictures of {size} bytes")
sys.exit(bool(problems))
