//! The words of CLIP: byte-pair encoding of texts, with a beginning, an end, and as much padding as a text encoder wants.

use crate::error::{Error, Result};
use crate::settings::Settings;
use serde_json::Value;
use std::path::Path;
use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::{Lowercase, NFC, Replace, Sequence as Normalizers};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence as Splitters;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, SplitDelimiterBehavior, Tokenizer};

const BEGINNING: &str = "<|startoftext|>";
const END: &str = "<|endoftext|>";

/// The pattern of words: CLIP's (Radford et al. 2021), before pairs are joined.
const WORDS: &str = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+";

/// A tokenizer of CLIP, with its table of words.
#[derive(Debug)]
pub struct Words {
    tokenizer: Tokenizer,
    beginning: u32,
    end: u32,
    padding: u32,
    length: usize,
}

/// A text as numbers of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The numbers: as many for each text.
    pub ids: Vec<u32>,
    /// How many words were left out at the end, because the text is longer than a text encoder reads.
    pub cut: usize,
}

impl Words {
    /// Reads `vocab.json` and `merges.txt`, or `tokenizer.json`, of a folder. There are so many words in the table of the text encoder, which
    /// reads texts of so many words.
    ///
    /// # Errors
    /// [`Error::Tokenizer`]; [`Error::Unreadable`], [`Error::Json`], [`Error::Setting`] of the files of settings.
    pub fn open(folder: &Path, words: usize, longest: usize) -> Result<Words> {
        let (vocabulary, merges) = (folder.join("vocab.json"), folder.join("merges.txt"));
        let (file, tokenizer) = if vocabulary.is_file() {
            let tokenizer = of_pairs(&vocabulary, &merges);
            (vocabulary, tokenizer)
        } else {
            let file = folder.join("tokenizer.json");
            let tokenizer = Tokenizer::from_file(&file);
            (file, tokenizer)
        };
        let unusable = |error: String| Error::Tokenizer { file: file.clone(), error };
        let mut tokenizer = tokenizer.map_err(|error| unusable(error.to_string()))?;
        tokenizer.with_padding(None);
        let whole = tokenizer.with_truncation(None).map(drop);
        whole.map_err(|error| unusable(error.to_string()))?;
        let id = |word: &str| {
            let id = tokenizer.token_to_id(word);
            id.ok_or_else(|| unusable(format!("it has no word {word}")))
        };
        if let Some((word, id)) = tokenizer.get_vocab(true).iter().find(|(_, id)| **id as usize >= words) {
            return Err(unusable(format!("word {word:?} has number {id}; the text encoder has {words} words")));
        }
        let (padding, length) = settings(folder, longest)?;
        if length < 2 {
            let error = format!("texts have {length} words at most, and no room for a beginning and an end");
            return Err(unusable(error));
        }
        Ok(Words { beginning: id(BEGINNING)?, end: id(END)?, padding: id(&padding)?, length, tokenizer })
    }

    /// How many numbers a text has.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The numbers of a text's words.
    ///
    /// # Errors
    /// [`Error::Text`].
    pub fn read(&self, text: &str) -> Result<Text> {
        let encoding = self
            .tokenizer
            .encode(text, false)
            .map_err(|error| Error::Text { text: text.to_owned(), error: error.to_string() })?;
        let words = encoding.get_ids();
        let kept = words.len().min(self.length - 2);
        let mut ids = vec![self.beginning];
        ids.extend(&words[..kept]);
        ids.push(self.end);
        ids.resize(self.length, self.padding);
        Ok(Text { ids, cut: words.len() - kept })
    }
}

/// A tokenizer as transformers' `CLIPTokenizer` makes it of the same files.
fn of_pairs(vocabulary: &Path, merges: &Path) -> tokenizers::Result<Tokenizer> {
    let path = |path: &Path| path.to_str().map(str::to_owned).ok_or("its path is no UTF-8");
    let model = BPE::from_file(&path(vocabulary)?, &path(merges)?)
        .unk_token(END.to_owned())
        .end_of_word_suffix("</w>".to_owned())
        .build()?;
    let mut tokenizer = Tokenizer::new(model);
    let spaces = Replace::new(tokenizers::normalizers::replace::ReplacePattern::Regex(r"\s+".to_owned()), " ")?;
    tokenizer.with_normalizer(Some(Normalizers::new(vec![NFC.into(), spaces.into(), Lowercase.into()])))?;
    let words = Split::new(SplitPattern::Regex(WORDS.to_owned()), SplitDelimiterBehavior::Removed, true)?;
    let bytes = ByteLevel::new(false, true, true);
    tokenizer.with_pre_tokenizer(Some(Splitters::new(vec![words.into(), bytes.into()])));
    tokenizer.add_special_tokens([BEGINNING, END].map(|word| AddedToken::from(word, true)))?;
    Ok(tokenizer)
}

/// The padding of texts, and their padded length. `special_tokens_map.json` takes precedence over
/// `tokenizer_config.json`, as in the versions of transformers that wrote both.
fn settings(folder: &Path, longest: usize) -> Result<(String, usize)> {
    let (mut padding, mut length) = (END.to_owned(), longest);
    for name in ["tokenizer_config.json", "special_tokens_map.json"] {
        let file = folder.join(name);
        if !file.is_file() {
            continue;
        }
        let settings = Settings::read(&file)?;
        if let Some(token) = settings.get("pad_token") {
            // A word, or an object that describes one.
            match token.as_str().or_else(|| token.get("content").and_then(Value::as_str)) {
                Some(token) => padding = token.to_owned(),
                None => return settings.refuse("pad_token", "it has to be a word"),
            }
        }
        // Where there is no limit, transformers writes a number with thirty digits.
        if settings.get("model_max_length").and_then(Value::as_u64).is_some() {
            length = settings.count("model_max_length", None)?.min(longest);
        }
    }
    Ok((padding, length))
}
